// Lets files be dropped on an element.

import { useState } from "preact/hooks";

/** Returns the attributes of the element. */
export function useDrop(onFiles: (files: FileList | undefined) => void) {
  const [isOver, setOver] = useState(false);
  return {
    "data-over": isOver || undefined,
    onDragOver: (event: DragEvent): void => {
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: (): void => setOver(false),
    onDrop: (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      onFiles(event.dataTransfer?.files);
    },
  };
}

// Keeps a person from leaving a screen with changes that are not saved.

import { useEffect } from "preact/hooks";
import { type Route, setGuard } from "./router.ts";

/** While something is unsaved, addresses that `isSame` does not know are held back, and the browser asks before it closes the page. */
export function useUnsaved(isUnsaved: boolean, isSame: (next: Route) => boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    setGuard(isSame);
    return () => {
      removeEventListener("beforeunload", ask);
      setGuard(undefined);
    };
  }, [isUnsaved]);
}

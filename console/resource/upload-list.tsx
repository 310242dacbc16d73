// The uploads of a resource that run or have failed.

import { reasonOf } from "../api/problem.ts";
import { IconButton } from "../ui/button.tsx";
import { formatBytes } from "../ui/format.ts";
import type { Upload, Uploads } from "./uploads.ts";

export const UploadList = ({ uploads }: { uploads: Uploads }) => (
  <ul class="uploads" aria-label="Uploads">
    {uploads.list.map((upload, index) => (
      <UploadLine
        key={`${index} ${upload.file.name}`}
        upload={upload}
        onCancel={() => uploads.cancel(upload)}
        onRetry={() => uploads.retry(upload)}
      />
    ))}
  </ul>
);

interface UploadLineProps {
  readonly upload: Upload;
  readonly onCancel: () => void;
  readonly onRetry: () => void;
}

function UploadLine({ upload, onCancel, onRetry }: UploadLineProps) {
  const { file, sent, problem } = upload;
  return (
    <li>
      <span class="upload-name" dir="auto">
        {file.name}
      </span>
      {problem === undefined ? (
        <progress max={file.size} value={sent} aria-label={`Upload of ${file.name}`} />
      ) : (
        <span class="errors" role="alert">
          {reasonOf(problem)}
        </span>
      )}
      <span class="faint">
        {formatBytes(sent)} of {formatBytes(file.size)}
      </span>
      {problem && (
        <IconButton icon="refresh-cw" label={`Upload ${file.name} again`} onClick={onRetry} />
      )}
      <IconButton
        icon="x"
        label={`${problem ? "Close" : "Cancel"} the upload of ${file.name}`}
        onClick={onCancel}
      />
    </li>
  );
}

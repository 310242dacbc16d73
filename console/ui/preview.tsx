// A preview of a file: a picture, the beginning of a text, or sound and film on demand. Documents are never rendered.

import { useEffect, useState } from "preact/hooks";
import { isPicture, pictureSize } from "../api/pictures.ts";
import type { Definition, StoredFile } from "../api/types.ts";
import { readFile } from "../api/upload.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

const texts = /^(text\/.*|application\/(json|.*\+json|xml|yaml))(;|$)/;
const media = /^(audio|video)\/[\w.+-]+/;

const largestPicture = 10_000_000;
const largestMedia = 100_000_000;
const shownText = 1_000;

interface PreviewProps {
  readonly file: StoredFile;
  /** The path of the file from the root of the API. */
  readonly path: string;
  readonly definition: Definition;
}

export function Preview({ file, path, definition }: PreviewProps) {
  const size = pictureSize(definition, enough);
  if (isPicture(file.type) && (size !== undefined || file.size <= largestPicture))
    return <Picture name={file.name} path={size === undefined ? path : `${path}?${size}`} />;
  if (texts.test(file.type) && file.size > 0) return <TextStart path={path} />;
  if (media.test(file.type) && file.size <= largestMedia) return <Media path={path} file={file} />;
  return (
    <span class="preview none">
      <Icon name="file" />
    </span>
  );
}

const enough = 160;

/** The blob of a file, until it is shown no longer. */
function useBlob(path: string | undefined, range?: string): Blob | undefined {
  const [blob, setBlob] = useState<Blob>();
  useEffect(() => {
    if (path === undefined) return;
    const abort = new AbortController();
    readFile(path, abort.signal, range).then(setBlob, () => {});
    return () => abort.abort();
  }, [path, range]);
  return blob;
}

const useBlobUrl = (path: string | undefined): string | undefined => useObjectUrl(useBlob(path));

function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}

/** A picture that was chosen and is not sent yet. */
export function ChosenPicture({ file }: { file: File }) {
  const url = useObjectUrl(file);
  return isPicture(file.type) && url !== undefined ? (
    <span class="preview">
      <img src={url} alt={`Preview of ${file.name}`} />
    </span>
  ) : (
    <span class="preview none">
      <Icon name="file" />
    </span>
  );
}

function Picture({ path, name }: { path: string; name: string }) {
  const url = useBlobUrl(path);
  return (
    <span class="preview">
      {url === undefined ? <Icon name="image" /> : <img src={url} alt={`Preview of ${name}`} />}
    </span>
  );
}

function TextStart({ path }: { path: string }) {
  const blob = useBlob(path, `bytes=0-${shownText - 1}`);
  const [text, setText] = useState("");
  useEffect(() => {
    void blob?.text().then(setText);
  }, [blob]);
  return (
    <span class="preview text" dir="auto">
      {text.slice(0, shownText)}
    </span>
  );
}

function Media({ path, file }: { path: string; file: StoredFile }) {
  const [isWanted, setWanted] = useState(false);
  const url = useBlobUrl(isWanted ? path : undefined);
  if (!isWanted)
    return (
      <span class="preview none">
        <Button onClick={() => setWanted(true)}>
          Play<span class="hidden-text"> {file.name}</span>
        </Button>
      </span>
    );
  const isFilm = file.type.startsWith("video/");
  return (
    <span class="preview">
      {isFilm ? (
        <video src={url} controls>
          <track kind="captions" />
        </video>
      ) : (
        <audio src={url} controls>
          <track kind="captions" />
        </audio>
      )}
    </span>
  );
}

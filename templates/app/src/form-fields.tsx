// The fields of the form, each with its errors.

import { useEffect, useRef, useState } from "react";
import type { ProblemDetail } from "restante-client";
import type { Product } from "./collections.ts";
import { type Fields, labels } from "./fields.ts";
import { Picture } from "./picture.tsx";

interface TextFieldProps {
  readonly name: keyof Fields;
  readonly value: string;
  readonly errors: readonly ProblemDetail[];
  readonly onChange: (value: string) => void;
}

export function TextField({ name, value, errors, onChange }: TextFieldProps) {
  const isNumber = name === "price" || name === "stock";
  const shared = {
    ...{ id: name, value, autoComplete: "off" },
    ...{ "aria-invalid": errors.length > 0, "aria-describedby": `${name}-errors` },
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onChange(target.value),
  };
  return (
    <div className={`field ${name}`}>
      <label htmlFor={name}>{labels[name]}</label>
      {name === "description" ? (
        <textarea {...shared} rows={3} />
      ) : (
        <input {...shared} inputMode={isNumber ? "decimal" : "text"} />
      )}
      <Errors id={`${name}-errors`} errors={errors} />
    </div>
  );
}

interface PhotoFieldProps {
  readonly product: Product | undefined;
  /** The file that was chosen and is not sent yet. */
  readonly photo: File | undefined;
  readonly errors: readonly ProblemDetail[];
  readonly onChoose: (file: File | undefined) => void;
}

export function PhotoField({ product, photo, errors, onChoose }: PhotoFieldProps) {
  const preview = usePreview(photo);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!photo && input.current) input.current.value = "";
  }, [photo]);
  return (
    <div className="field photo">
      <label htmlFor="photo">Photo</label>
      <input
        ref={input}
        id="photo"
        type="file"
        accept="image/jpeg,image/png,image/webp"
        aria-invalid={errors.length > 0}
        aria-describedby="photo-errors"
        onChange={({ target }) => onChoose(target.files?.[0])}
      />
      {preview && <img className="picture large" src={preview} alt="" />}
      {!preview && product?.photo && <Picture product={product} size="large" />}
      <Errors id="photo-errors" errors={errors} />
    </div>
  );
}

/** The URL of a file in the memory of the browser. */
function usePreview(file: File | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!file) return setUrl(undefined);
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url;
}

interface ErrorsProps {
  readonly id: string;
  readonly errors: readonly ProblemDetail[];
}

const Errors = ({ id, errors }: ErrorsProps) => (
  <p id={id} className="errors">
    {errors.map(({ detail }) => detail).join(", ")}
  </p>
);

// The form: errors at their fields, a conflict with both versions, and the photo with progress.

import type { FormEvent } from "react";
import { Conflict } from "restante-client";
import type { Product } from "./collections.ts";
import { ConflictChoice } from "./conflict-choice.tsx";
import { names } from "./fields.ts";
import { PhotoField, TextField } from "./form-fields.tsx";
import { ProblemText } from "./problem-text.tsx";
import { useProductForm } from "./use-product-form.ts";

interface ProductFormProps {
  readonly product: Product | undefined;
  readonly onClose: () => void;
}

export function ProductForm({ product, onClose }: ProductFormProps) {
  const form = useProductForm(product, onClose);
  const { seen, fields, problem, progress, isBusy } = form;
  const conflict = problem instanceof Conflict ? problem : undefined;
  const errorsAt = (pointer: string) => problem?.at(pointer) ?? [];

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void form.save(seen);
  };

  return (
    <form onSubmit={submit} noValidate>
      {problem && !conflict && <ProblemText problem={problem} />}
      {names.map((name) => (
        <TextField
          key={name}
          {...{ name, value: fields[name], errors: errorsAt(`/${name}`) }}
          onChange={(value) => form.setFields({ ...fields, [name]: value })}
        />
      ))}
      <PhotoField
        {...{ product: seen, photo: form.photo, errors: errorsAt("/photo") }}
        onChoose={form.setPhoto}
      />
      {progress !== undefined && <progress value={progress} aria-label="Upload of the photo" />}
      {conflict && (
        <ConflictChoice
          {...{ conflict, patch: form.patch, photo: form.photo }}
          onMine={form.save}
          onTheirs={form.startAgain}
        />
      )}
      <footer>
        {seen && !conflict && (
          <button
            type="button"
            className="danger"
            disabled={isBusy}
            onClick={() => confirm(`Delete ${seen.name}?`) && form.remove(seen)}
          >
            Delete
          </button>
        )}
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        {!conflict && (
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        )}
      </footer>
    </form>
  );
}

// Somebody else was faster: shows both versions, and lets the person choose.

import type { Conflict, Patch } from "restante-client";
import type { Product, ProductDraft } from "./collections.ts";
import { fieldsOf, labels, names } from "./fields.ts";
import { Picture } from "./picture.tsx";
import { bringIntoView } from "./problem-text.tsx";

interface ConflictChoiceProps {
  readonly conflict: Conflict<Product>;
  /** What the person has changed. */
  readonly patch: Patch<ProductDraft>;
  readonly photo: File | undefined;
  readonly onMine: (current: Product) => void;
  readonly onTheirs: (current: Product) => void;
}

export function ConflictChoice(props: ConflictChoiceProps) {
  const { conflict, patch, photo, onMine, onTheirs } = props;
  const { base, current } = conflict;
  if (!current) return <p role="alert">Somebody has deleted it.</p>;
  const [before, now] = [fieldsOf(base), fieldsOf(current)];
  const rows = names.filter((name) => before[name] !== now[name] || name in patch);
  const isOtherPhoto = base.photo?.sha256 !== current.photo?.sha256;
  return (
    <div role="alert" className="conflict" ref={bringIntoView}>
      <p>
        <strong>Somebody else has changed this product.</strong> Nothing of yours is lost, and
        nothing is saved yet.
      </p>
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">Before</th>
            <th scope="col">Theirs</th>
            <th scope="col">Yours</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((name) => (
            <tr key={name}>
              <th scope="row">{labels[name]}</th>
              <td>{before[name]}</td>
              <td>{now[name] === before[name] ? "–" : now[name]}</td>
              <td>{name in patch ? `${patch[name] ?? ""}` : "–"}</td>
            </tr>
          ))}
          {(isOtherPhoto || photo) && (
            <tr>
              <th scope="row">Photo</th>
              <td>{base.photo ? "a photo" : ""}</td>
              <td>{isOtherPhoto ? <Theirs product={current} /> : "–"}</td>
              <td>{photo?.name ?? "–"}</td>
            </tr>
          )}
        </tbody>
      </table>
      <button type="button" className="primary" onClick={() => onMine(current)}>
        Save mine
      </button>
      <button type="button" onClick={() => onTheirs(current)}>
        Take theirs
      </button>
    </div>
  );
}

const Theirs = ({ product }: { readonly product: Product }) =>
  product.photo ? <Picture product={product} size="large" /> : "removed";

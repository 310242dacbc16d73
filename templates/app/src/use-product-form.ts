// What the form of a product knows and does: fields, problems, and saving with the photo.

import { useState } from "react";
import { Conflict, Problem } from "restante-client";
import { useMutation } from "restante-client/react";
import type { Product } from "./collections.ts";
import { draftOf, fieldsOf, patchOf } from "./fields.ts";
import { products } from "./shop.ts";

export function useProductForm(product: Product | undefined, onDone: () => void) {
  // What the person saw when the form was opened. Its ETag is sent, so a change by somebody else is noticed.
  const [seen, setSeen] = useState(product);
  const [fields, setFields] = useState(fieldsOf(product));
  const [photo, setPhoto] = useState<File>();
  const [progress, setProgress] = useState<number>();
  const [problem, setProblem] = useState<Problem>();
  const create = useMutation(products, "create");
  const update = useMutation(products, "update");
  const upload = useMutation(products, "upload");
  const remove = useMutation(products, "remove");
  const patch = patchOf(fieldsOf(seen), fields);

  const show = (state: Product) => {
    setSeen(state);
    setFields(fieldsOf(state));
    setProblem(undefined);
  };

  const saveFields = async (target: Product | undefined): Promise<Product> => {
    if (target === undefined) return create.mutateAsync(draftOf(fields));
    const isChanged = Object.keys(patch).length > 0;
    return isChanged ? update.mutateAsync({ target, patch }) : target;
  };

  /** Drops what the person has entered. */
  const startAgain = (state: Product) => {
    show(state);
    setPhoto(undefined);
  };

  const sendPhoto = (target: Product, file: File) =>
    upload.mutateAsync({
      ...{ target, field: "photo", file, headers: samePhoto(target) },
      // Small parts, so that the bar moves.
      partBytes: 256 * 1024,
      onProgress: (sent, total) => setProgress(sent / total),
    });

  const savePhoto = (target: Product, file: File) =>
    sendPhoto(target, file).catch(async (problem: Problem) => {
      if (problem.status !== 412) throw problem;
      throw new Conflict(problem, target, await products.find(target.id), {});
    });

  /** Closes the form when all went well, and shows the problem otherwise. */
  const run = async (work: () => Promise<unknown>) => {
    setProblem(undefined);
    try {
      await work();
      onDone();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    } finally {
      setProgress(undefined);
    }
  };

  return {
    ...{ seen, fields, setFields, photo, setPhoto, patch, progress, problem, startAgain },
    isBusy: create.isPending || update.isPending || upload.isPending || remove.isPending,
    save: (target: Product | undefined) =>
      run(async () => {
        const saved = await saveFields(target);
        show(saved);
        if (photo) await savePhoto(saved, photo);
      }),
    remove: (target: Product) => run(() => remove.mutateAsync(target)),
  };
}

/** An upload replaces any photo. With these, only the one that the person saw. */
const samePhoto = ({ photo }: Product): Readonly<Record<string, string>> =>
  photo ? { "If-Match": `"${photo.sha256}"` } : { "If-None-Match": "*" };

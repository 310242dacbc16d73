// Values that the examples of several schemas share.

export const exampleId = "019a8448-5a3c-7c31-9d41-6f2f3f0c9a11";
export const exampleTime = "2026-11-15T09:30:00.000Z";
export const exampleEtag = '"2-mwh98p3i"';
export const exampleResource = {
  id: exampleId,
  name: "Ada",
  createdAt: exampleTime,
  updatedAt: exampleTime,
};

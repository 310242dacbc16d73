// Prints how many steps it takes to read n, 2n and 4n parameters, a JSON array on each line. For Node.

import { readSearchParams } from "../../src/http/request/request-target.ts";
import { StepCounter } from "../step-counter.ts";

const counter = new StepCounter((url) => url.includes("/src/"));

for (const parameter of ["a&", "a=1&", "&", "%41&", "a=+&"]) {
  const steps: number[] = [];
  for (const count of [500, 1_000, 2_000])
    steps.push(await counter.count(async () => readSearchParams(parameter.repeat(count))));
  console.log(JSON.stringify([parameter, ...steps]));
}

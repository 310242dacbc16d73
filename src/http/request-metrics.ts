// Measures requests by route and class of status.

import { Histogram, type Labels, type Metrics, secondsBounds } from "../lib/metrics.ts";
import type { RequestContext, RouteName } from "./request/context.ts";

/** The statuses 100 to 599. */
const classes = 6;

/** A request for which no route was found, or that was rejected before that. */
const noRoute: RouteName = { method: "other", path: "none" };

export class RequestMetrics {
  /** By route; one histogram for each class of status that occurred. */
  readonly #byRoute = new Map<RouteName, (Histogram | undefined)[]>();

  /** How many requests were measured. */
  count = 0;

  constructor(metrics: Metrics) {
    metrics.histograms(
      "restante_http_request_duration_seconds",
      "How long requests took until their response began, by route and class of status.",
      () => this.#all(),
    );
  }

  add(context: RequestContext, status: number, ms: number): void {
    this.count++;
    const key = context.route ?? noRoute;
    const known = this.#byRoute.get(key);
    const histogram = known?.[(status / 100) | 0];
    (histogram ?? this.#create(key, status)).add(ms / 1_000);
  }

  #create(route: RouteName, status: number): Histogram {
    const own = this.#byRoute.get(route) ?? new Array<Histogram | undefined>(classes);
    this.#byRoute.set(route, own);
    const histogram = new Histogram(secondsBounds);
    own[(status / 100) | 0] = histogram;
    return histogram;
  }

  *#all(): Iterable<readonly [Labels, Histogram]> {
    for (const [{ method, path }, own] of this.#byRoute)
      for (const [index, histogram] of own.entries())
        if (histogram) yield [{ method, route: path, status: `${index}xx` }, histogram];
  }
}

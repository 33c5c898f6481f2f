// Requests by route and how they were answered. By the route's pattern: paths hold ids and tokens, and there is no end of
// them.

import { Histogram } from "../domain/histogram.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { AnsweredRequest } from "../ports.ts";
import type { Family } from "./exposition.ts";

/** Seconds. */
const HEAD_BOUNDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A caller may make up any other. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OTHER = "other";
/** The caller was gone before there was an answer. */
const ABORTED = "aborted";

interface RouteCounts {
	method: string;
	route: string;
	statuses: Map<number | null, number>;
	heads: Histogram;
}

export interface RequestCounts {
	count(request: AnsweredRequest): void;
	families: readonly Family[];
}

export function createRequestCounts(): RequestCounts {
	const byRoute = new Map<string, Map<string, RouteCounts>>();

	function* all(): Generator<RouteCounts> {
		for (const byMethod of byRoute.values()) yield* byMethod.values();
	}

	return {
		count({ method: asked, route: found, status, headMs }) {
			const route = found ?? OTHER;
			const method = METHODS.has(asked) ? asked : OTHER;
			const byMethod = byRoute.getOrInsertComputed(route, () => new Map<string, RouteCounts>());
			const counts = byMethod.getOrInsertComputed(method, () => ({
				method,
				route,
				statuses: new Map(),
				heads: new Histogram(HEAD_BOUNDS),
			}));
			counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
			counts.heads.observe(headMs / SECOND_MS);
		},
		families: [
			{
				name: "ringback_http_requests_total",
				help: "Requests to the public port, by method, route and status; aborted when the caller went away before the answer",
				type: "counter",
				*read() {
					for (const { method, route, statuses } of all()) {
						for (const [status, count] of statuses)
							yield [{ method, route, status: status === null ? ABORTED : String(status) }, count];
					}
				},
			},
			{
				name: "ringback_http_request_duration_seconds",
				help: "Time from a request to the first byte of its answer, by method and route",
				type: "histogram",
				*read() {
					for (const { method, route, heads } of all()) yield [{ method, route }, heads];
				},
			},
		],
	};
}

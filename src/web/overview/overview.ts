// The pages of the overview.

import type { Hono } from "hono";
import { createTallies } from "../../conversions/tally.ts";
import type { WebDeps, WebEnv } from "../deps.ts";
import { showOverview, showTotals } from "./overview-page.ts";

export function mountOverview(site: Hono<WebEnv>, deps: WebDeps): void {
	const tallies = createTallies(deps);
	const path = "/programmes/:programmeId/overview";
	site.get(path, (c) => showOverview(c, deps, tallies));
	site.get(`${path}/totals`, (c) => showTotals(c, deps, tallies));
}

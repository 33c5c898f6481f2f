// How a programme does, at one look.

import { overviewPath } from "../paths.ts";
import type { Route } from "../routes.ts";
import { showOverview, showTotals } from "./overview-page.ts";

const OVERVIEW = overviewPath(":programmeId");

export const OVERVIEW_ROUTES: readonly Route[] = [
	{ method: "GET", path: OVERVIEW, access: "programme", answer: showOverview },
	{ method: "GET", path: `${OVERVIEW}/totals`, access: "programme", answer: showTotals },
];

// How a programme does, at one look; and the network, for staff.

import { COUNTED_TOTALS_PATH, overviewPath, TOTALS_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { showCountedTotals, showNetworkTotals } from "./network-totals-page.ts";
import { showOverview, showTotals } from "./overview-page.ts";

const OVERVIEW = overviewPath(":programmeId");

export const OVERVIEW_ROUTES: readonly Route[] = [
	{ method: "GET", path: OVERVIEW, access: "programme", answer: showOverview },
	{ method: "GET", path: `${OVERVIEW}/totals`, access: "programme", answer: showTotals },
	{ method: "GET", path: TOTALS_PATH, access: "staff", answer: showNetworkTotals },
	{ method: "GET", path: COUNTED_TOTALS_PATH, access: "staff", answer: showCountedTotals },
];

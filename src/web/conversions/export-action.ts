// The list as a file: the same filters, every row.

import { exportConversions } from "../../conversions/export.ts";
import { utcDay } from "../../domain/time.ts";
import type { WebContext } from "../env.ts";
import { programmeOf } from "../viewer.ts";
import { answerCsv } from "./csv-answer.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { showListOf } from "./list-page.ts";
import { parseListQuery, toConversionFilter } from "./list-query.ts";

export function showExport(c: WebContext, deps: ConversionPagesDeps): Response | Promise<Response> {
	const { store, clock } = deps;
	const programme = programmeOf(c);
	const filters = parseListQuery(new URL(c.req.url).search);
	// The page that says which filter is not understood: a file of everything would be taken for the answer.
	if (Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const day = utcDay(clock.nowMs());
	const lines = exportConversions(store.db, toConversionFilter(programme.id, filters.query));
	return answerCsv(c, deps, `conversions-${programme.public_id}-${day}.csv`, lines);
}

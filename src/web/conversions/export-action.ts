// The list as a file: the same filters, every row.

import { exportConversions } from "../../conversions/export.ts";
import type { WebContext } from "../env.ts";
import { programmeOf } from "../viewer.ts";
import { answerCsv } from "./csv-answer.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { parseListQuery, toConversionsQuery } from "./list-query.ts";

export function answerExport(c: WebContext, { store, clock }: ConversionPagesDeps): Response {
	const programme = programmeOf(c);
	const query = parseListQuery(new URL(c.req.url).search);
	const day = new Date(clock.nowMs()).toISOString().slice(0, 10);
	const lines = exportConversions(store.db, programme, toConversionsQuery(query));
	return answerCsv(c, `conversions-${programme.public_id}-${day}.csv`, lines, clock.turn);
}

// Shows the section that lists the rates of a programme or a partnership over time.

import { periodsOf, type RateHistory, type RatePeriod } from "../domain/rate-history.ts";
import * as ui from "./ui.ts";
import { type Content, html } from "./ui.ts";

/** Maximum number of periods that are listed. Rates change a few times a year. */
const MAX_LISTED = 100;

export function rateHistorySection<Rates>(shown: {
	history: RateHistory<Rates>;
	/** Time at which the programme or the partnership began. Its first rates may be unknown. */
	createdAtMs: number;
	columns: readonly { title: string; cell: (rates: Rates) => Content }[];
}): Content {
	const { history, createdAtMs, columns } = shown;
	const isCut = history.length > MAX_LISTED;
	const beganMs = history[0]?.fromMs ?? createdAtMs;
	const beginning =
		beganMs > createdAtMs && !isCut
			? html` Earlier rates are not on record, so the first ones count for sales from before, too.`
			: null;
	return ui.section({
		id: "rate-history",
		title: "Rates over time",
		hint: html`A sale keeps the rates that applied when it was recorded. If it gets another partner later, it takes the commission that this partner had then.${beginning}`,
		body: ui.dataTable<RatePeriod<Rates>>({
			caption: isCut
				? `The newest ${MAX_LISTED} rates, the newest first`
				: "Rates over time, the newest first",
			rows: periodsOf(history).slice(0, MAX_LISTED),
			stacks: true,
			empty: null,
			columns: [
				{ title: "From", namesRow: true, cell: ({ fromMs }) => ui.timeTag(fromMs) },
				{ title: "To", cell: ({ toMs }) => (toMs === null ? "now" : ui.timeTag(toMs)) },
				...columns.map(({ title, cell }) => ({
					title,
					cell: ({ rates }: RatePeriod<Rates>) => cell(rates),
				})),
			],
		}),
	});
}

// The table on a partnership's page that says for each event type what the partner earns, and whose rate that is. While
// staff change the commission, it also shows what the typed rates would lead to.

import { EVENT_TYPES, type EventType } from "#core/domain/conversion.ts";
import {
	type CommissionSource,
	effectiveCommissions,
	findCommission,
	type PartnershipRates,
	type ProgrammeCommissions,
	type Rate,
} from "#core/domain/rate.ts";
import { joinHistories } from "#core/domain/rate-history.ts";
import { describeRates } from "#core/domain/rate-words.ts";
import { readProgrammeHistory } from "#core/store/queries/programme-rates.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { rateLines, titleCase } from "#core/web/conversion-ui.ts";
import type { WebDeps } from "#core/web/page.ts";
import { rateHistorySection } from "#core/web/rate-history.ts";
import * as ui from "#core/web/ui.ts";
import { type Content, html } from "#core/web/ui.ts";
import type { NamedPartnership } from "../store/partnerships.ts";
import { readPartnershipHistory } from "../store/rates-on-record.ts";

const SECTION = "commission";

const SOURCE_WORDS: Readonly<Record<CommissionSource, string>> = {
	"partnership's type": "This partner's, for this event type",
	"programme's type": "The programme's, for this event type",
	partnership: "This partner's general one",
	programme: "The programme's general one",
};

interface Row {
	/** The event type, or null for all types that have no commission of their own. */
	eventType: EventType | null;
}

/** Shows the commissions of a partnership. `typed` are the rates that staff have typed and not saved yet. */
export function commissionSection(
	currency: string,
	programme: ProgrammeCommissions,
	stored: PartnershipRates,
	typed?: PartnershipRates,
): Content {
	const rows = rowsOf(programme, [stored, ...(typed === undefined ? [] : [typed])]);
	const shown = typed ?? stored;
	const rate = (from: PartnershipRates, { eventType }: Row) =>
		inWords(findCommission(programme, from, eventType).rate, currency);
	return ui.section({
		id: SECTION,
		title: typed === undefined ? "Commission by event type" : "Commission by event type, not saved yet",
		hint: "A commission for an event type goes before a general one, and this partner's before the programme's.",
		body: ui.dataTable<Row>({
			caption: "What each event type earns",
			rows,
			stacks: true,
			empty: null,
			columns: [
				{ title: "Event type", namesRow: true, cell: ({ eventType }) => nameOf(eventType, rows) },
				{
					title: typed === undefined ? "Commission" : "Now",
					cell: (row) => rate(stored, row),
				},
				...(typed === undefined
					? []
					: [
							{
								title: "After saving",
								cell: (row: Row) =>
									rate(typed, row) === rate(stored, row)
										? html`${rate(typed, row)} <span class="secondary">no change</span>`
										: html`<strong>${rate(typed, row)}</strong>`,
							},
						]),
				{
					title: "Whose",
					cell: ({ eventType }) => SOURCE_WORDS[findCommission(programme, shown, eventType).source],
				},
			],
		}),
	});
}

/** Lists the commissions of a partner over time, from its own rates and from those of the programme. */
export async function commissionHistory(
	{ store }: Pick<WebDeps, "store">,
	programme: Programme,
	partnership: Pick<NamedPartnership, "id" | "created_at_ms">,
): Promise<Content> {
	const { currency } = programme;
	const history = joinHistories(
		await readProgrammeHistory(store.db, programme),
		await readPartnershipHistory(store.db, partnership.id, currency),
	).map(({ fromMs, rates }) => ({ fromMs, rates: effectiveCommissions(...rates) }));
	const words = ({ rates }: (typeof history)[number]) => describeRates(rates, currency).join("\n");
	return rateHistorySection({
		// A change of the programme's rates does not always change the commission of this partner.
		history: history.filter((one, index) => {
			const before = history[index - 1];
			return before === undefined || words(before) !== words(one);
		}),
		createdAtMs: partnership.created_at_ms,
		columns: [{ title: "Commission", cell: (rates) => rateLines(rates, currency) }],
	});
}

/**
 * Describes what a change of the rates leads to, such as "Lead: 8 % of the basket → 5.00 EUR for each
 * conversion". The result is empty if nothing changes.
 */
export function describeChange(
	currency: string,
	programme: ProgrammeCommissions,
	before: PartnershipRates,
	after: PartnershipRates,
): string {
	const rows = rowsOf(programme, [before, after]);
	return rows
		.flatMap(({ eventType }) => {
			const [old, now] = [before, after].map((one) =>
				inWords(findCommission(programme, one, eventType).rate, currency),
			);
			return old === now ? [] : [`${nameOf(eventType, rows)}: ${old} → ${now}.`];
		})
		.join(" ");
}

/**
 * Lists the event types for which the programme or a partnership has a commission of its own. The last row
 * stands for all other types.
 */
function rowsOf(programme: ProgrammeCommissions, partnerships: readonly PartnershipRates[]): Row[] {
	const named = EVENT_TYPES.filter((type) =>
		[programme, ...partnerships].some(({ byType }) => byType[type] !== undefined),
	);
	return [
		...named.map((eventType) => ({ eventType })),
		...(named.length < EVENT_TYPES.length ? [{ eventType: null }] : []),
	];
}

function inWords(rate: Rate, currency: string): string {
	return describeRates({ general: rate, byType: {} }, currency, ui.decimal).join("");
}

function nameOf(eventType: EventType | null, rows: readonly Row[]): string {
	if (eventType !== null) return titleCase(eventType);
	return rows.length === 1 ? "All event types" : "All other event types";
}

// A conversion's own page: what it is, what happened to it, what the shop was told, and what can be done now.

import { announcedBy } from "../../domain/conversion.ts";
import type { Standing } from "../../domain/roles.ts";
import {
	type Conversion,
	findByPublicId,
	type HistoryMove,
	listMoves,
} from "../../store/queries/conversions.ts";
import { type ListedDelivery, listDeliveriesOfConversion } from "../../store/queries/delivery-list.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	type CameFrom,
	DECIDER_WORDS,
	decisionBar,
	deliveryColumns,
	hiddenFields,
	isUnconfirmed,
	REPORTER_WORDS,
	type RefusedDecision,
	reasonWords,
	refusalMessage,
	statusBadge,
	titleCase,
} from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { answerPage, type PageDeps, programmeOf, standingOf, type WebContext } from "../page.ts";
import { ALL_CONVERSIONS_PATH, conversionPath, conversionsPath, integrationPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { movesFor } from "./deciding.ts";
import { listAddress } from "./list-query.ts";

export async function showConversion(
	c: WebContext,
	{ store, clock }: PageDeps,
	refused?: RefusedDecision,
): Promise<Response> {
	const programme = programmeOf(c);
	const conversion = await findByPublicId(store.db, programme.id, c.req.param("conversionId") ?? "");
	if (conversion === undefined) return answerError(c, "not_found");
	const moves = await listMoves(store.db, conversion.id);
	const deliveries = await listDeliveriesOfConversion(store.db, conversion.id);
	return answerPage(c, {
		title: `Order ${conversion.order_id}`,
		active: "conversions",
		status: refused?.fault.httpStatus ?? 200,
		body: renderConversion({
			programme,
			conversion,
			moves,
			deliveries,
			refused,
			standing: standingOf(c),
			nowMs: clock.nowMs(),
			from: cameFrom(c),
		}),
	});
}

/** The network's list is staff's: an address that somebody else was given leads to their own. */
function cameFrom(c: WebContext): CameFrom {
	return {
		list: c.req.query("list"),
		network: standingOf(c) === "staff" ? c.req.query("network") : undefined,
	};
}

function backLink({ from, programme }: ConversionView): Html {
	const path = from.network === undefined ? conversionsPath(programme.public_id) : ALL_CONVERSIONS_PATH;
	return ui.linkButton({ label: "Back to the list", href: listAddress(path, from.network ?? from.list) });
}

interface ConversionView {
	programme: Programme;
	conversion: Conversion;
	moves: readonly HistoryMove[];
	deliveries: readonly ListedDelivery[];
	refused: RefusedDecision | undefined;
	standing: Standing;
	nowMs: number;
	from: CameFrom;
}

function renderConversion(view: ConversionView): Html {
	const { programme, conversion } = view;
	const header = ui.pageHeader({
		title: `Order ${conversion.order_id}`,
		hint: html`<span class="row">${statusBadge(conversion.status)}${conversion.test === 1 ? html`<span class="test-mark">Test conversion: stays out of totals</span>` : null}</span>`,
		actions: backLink(view),
	});
	return html`${header}${refusalMessage(view.refused)}${mismatchMessage(conversion)}${renderActions(view)}
<div class="columns">${ui.section({
		id: "facts",
		title: "Details",
		body: ui.padded(ui.facts(factsOf(conversion))),
	})}${ui.section({
		id: "history",
		title: "History",
		body: ui.padded(moveTimeline(view)),
	})}</div>
${ui.section({
	id: "callbacks",
	title: "Callbacks for this conversion",
	hint: "What we sent to your shop about it, and how it answered.",
	body:
		view.deliveries.length > 0
			? deliveryTable(programme.public_id, view.deliveries, view.nowMs)
			: explainSilence(view),
})}`;
}

/** Why the shop was told nothing: because there was nothing to tell, or for want of what is needed to tell it. */
function explainSilence({ programme, conversion, moves }: ConversionView): Html {
	const { status, source } = conversion;
	const nothing = (text: string, action?: Html) =>
		ui.emptyState({ title: "Nothing was sent", text, ...(action === undefined ? {} : { action }) });
	if (status === "PARKED" || status === "EXPIRED") {
		return nothing(
			"Parked and expired conversions send no callbacks: they wait, or waited in vain, for your server to confirm the order.",
		);
	}
	if (source === "import") {
		return nothing(
			"This conversion was decided before the network moved here, and imported. Imports send no callbacks. A reversal made here sends one.",
		);
	}
	if (moves.length > 0 && moves.every(({ move }) => announcedBy(move) === null)) {
		return nothing(
			"Your server confirmed the order, and the answer to its request said so. Callbacks start with the first decision.",
		);
	}
	return nothing(
		"Only changes after the Postback URL was saved are sent, and only once a signing secret exists. Callbacks older than the retention period are no longer listed.",
		ui.linkButton({ label: "Status callback", href: `${integrationPath(programme.public_id)}#callback` }),
	);
}

function renderActions({ programme, conversion, standing, refused, from }: ConversionView): Content {
	const moves = movesFor(standing, conversion.status);
	if (moves.length === 0) return null;
	return html`<div class="card">${ui.postForm({
		action: `${conversionPath(programme.public_id, conversion.public_id)}/decide`,
		className: "list-form",
		body: html`${hiddenFields(from)}${decisionBar({ moves, refused })}`,
	})}</div>`;
}

/** The contract says nothing about differing amounts: the server's counts, and we show both. */
function mismatchMessage({ pixel_basket_value: pixelValue, basket_value, currency }: Conversion): Content {
	if (pixelValue === null || pixelValue === basket_value) return null;
	return ui.message(
		"warn",
		html`<strong>The amounts differ.</strong> The pixel reported ${pixelValue} ${currency}, the shop's server ${basket_value} ${currency}. The server's amount counts.`,
	);
}

function factsOf(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { currency } = conversion;
	return [
		["Order ID", ui.copyable(conversion.order_id, "order id")],
		["Conversion ID", ui.copyable(conversion.public_id, "conversion id")],
		["Event type", titleCase(conversion.event_type)],
		["Reported by", REPORTER_WORDS[conversion.source]],
		...confirmation(conversion),
		["Basket", ui.amount(conversion.basket_value, currency)],
		["Commission", ui.amount(conversion.commission, currency)],
		["Network fee", ui.amount(conversion.network_fee, currency)],
		["Time of the sale", ui.timeTag(conversion.occurred_at_ms)],
		[conversion.source === "import" ? "Imported" : "Recorded", ui.timeTag(conversion.created_at_ms)],
		...outlook(conversion),
	];
}

/** Whether anybody but a browser stands behind it: what to look at before approving by hand. */
function confirmation(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { status, confirmed_at_ms: confirmedAtMs } = conversion;
	const term = "Confirmed by the shop's server";
	if (confirmedAtMs !== null) return [[term, ui.timeTag(confirmedAtMs)]];
	if (!isUnconfirmed(conversion)) return [];
	if (status !== "RECORDED") return [[term, "No"]];
	return [[term, "Not yet. When it reports this order, its amount and time replace the pixel's."]];
}

function outlook(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { status, source, window_ends_at_ms: endsAtMs, decided_by: decidedBy, reason } = conversion;
	if (endsAtMs !== null && status === "RECORDED")
		return [["Approved automatically on", ui.timeTag(endsAtMs)]];
	if (endsAtMs !== null && status === "PARKED") {
		return [["Waits for confirmation until", ui.timeTag(endsAtMs)]];
	}
	if (decidedBy === null && source !== "import") return [];
	const by = decidedBy === null ? "in the software it was imported from" : DECIDER_WORDS[decidedBy];
	const decided: readonly [string, Content] = ["Decided", by];
	return reason === null ? [decided] : [decided, ["Reason", reasonWords(reason)]];
}

/** The history: when, what, by whom, why. */
function moveTimeline({ conversion, moves, standing: reader }: ConversionView): Html {
	return html`<ol class="timeline">${moves.map(
		(move, index) =>
			html`<li><div class="row">${statusBadge(move.to_status)}<span>${sentenceFor(move, index === 0)}</span></div><p class="small soft">${ui.timeTag(move.at_ms)}${decidedBefore(move, conversion)}${whoDecided(move, reader)}</p></li>`,
	)}</ol>`;
}

/** The time of an import is not the time of the decision. */
function decidedBefore({ move }: HistoryMove, { imported_decision_at_ms: decidedAtMs }: Conversion): Content {
	return move === "import" && decidedAtMs !== null ? html` · decided on ${ui.timeTag(decidedAtMs)}` : null;
}

function sentenceFor(move: HistoryMove, isFirst: boolean): string {
	const why = move.reason === null ? "" : `: ${reasonWords(move.reason)}`;
	switch (move.move) {
		case "record":
			return isFirst ? "Reported" : "Reported by the shop's server as a new sale";
		case "park":
			return "Waits for the shop's server to confirm it";
		case "confirm":
			return "Confirmed by the shop's server";
		case "expire":
			return "Not confirmed in time";
		case "approve":
		case "reject":
		case "reverse": {
			const who = move.decided_by === null ? "decided" : DECIDER_WORDS[move.decided_by];
			return `${who}${why}`;
		}
		case "import":
			return `Imported as ${move.to_status.toLowerCase()}${why}`;
		default:
			return move.move satisfies never;
	}
}

/** A shop's people see their colleagues' names; who it was in the review team is the network's own business. */
function whoDecided(move: HistoryMove, reader: Standing): string {
	if (move.person_email !== null && (reader === "staff" || move.person_kind === "shop")) {
		return ` · ${move.person_email}`;
	}
	return move.decided_by === "shop" && move.person_email === null ? " · over the API" : "";
}

function deliveryTable(
	programmePublicId: string,
	deliveries: readonly ListedDelivery[],
	nowMs: number,
): Html {
	const { event, state, attempts, answer, next, when } = deliveryColumns(programmePublicId, nowMs);
	return ui.dataTable<ListedDelivery>({
		caption: "Callbacks, the oldest first",
		rows: deliveries,
		empty: null,
		stacks: true,
		columns: [event, state, attempts, answer, next, when],
	});
}

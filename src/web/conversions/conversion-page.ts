// A conversion's own page: what it is, what happened to it, what the shop was told, and what can be done now.

import { html } from "hono/html";
import { announcedBy } from "../../domain/conversion.ts";
import type { Standing } from "../../domain/roles.ts";
import { type Conversion, findByPublicId, type HistoryMove, listMoves } from "../../store/conversions.ts";
import { type ListedDelivery, listDeliveriesOfConversion } from "../../store/delivery-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { type CameFrom, statusBadge } from "../components/conversion-cells.ts";
import {
	decidedByWords,
	isUnconfirmed,
	REPORTER_WORDS,
	reasonWords,
	titleCase,
} from "../components/conversion-words.ts";
import { decisionBar, type RefusedDecision, refusalMessage } from "../components/decision-bar.ts";
import {
	attemptCount,
	lastAnswer,
	nextAttempt,
	resentMark,
	stateBadge,
} from "../components/delivery-words.ts";
import { linkButton, postForm } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { amount, copyable, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { conversionPath, conversionsPath, deliveryPath, integrationPath } from "../paths.ts";
import { reviewAddress } from "../review/review-query.ts";
import { programmeOf, standingOf } from "../viewer.ts";
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
			csrf: csrfField(c),
			nowMs: clock.nowMs(),
			from: cameFrom(c),
		}),
	});
}

/** Review is staff's: an address that somebody else was given leads to their own list. */
function cameFrom(c: WebContext): CameFrom {
	return { list: c.req.query("list"), review: standingOf(c) === "staff" ? c.req.query("review") : undefined };
}

function backLink({ from, programme }: ConversionView): Html {
	if (from.review !== undefined) {
		return linkButton({ label: "Back to Review", href: reviewAddress(from.review) });
	}
	const href = listAddress(conversionsPath(programme.public_id), from.list);
	return linkButton({ label: "Back to the list", href });
}

interface ConversionView {
	programme: Programme;
	conversion: Conversion;
	moves: readonly HistoryMove[];
	deliveries: readonly ListedDelivery[];
	refused: RefusedDecision | undefined;
	standing: Standing;
	csrf: Html;
	nowMs: number;
	from: CameFrom;
}

function renderConversion(view: ConversionView): Html {
	const { programme, conversion } = view;
	const header = pageHeader({
		title: `Order ${conversion.order_id}`,
		hint: html`<span class="row">${statusBadge(conversion.status)}${conversion.test === 1 ? html`<span class="test-mark">Test conversion: stays out of totals</span>` : null}</span>`,
		actions: backLink(view),
	});
	return html`${header}${refusalMessage(view.refused)}${mismatchMessage(conversion)}${renderActions(view)}
<div class="columns">${section({
		id: "facts",
		title: "Details",
		body: padded(facts(factsOf(conversion))),
	})}${section({
		id: "history",
		title: "History",
		body: padded(moveTimeline(view)),
	})}</div>
${section({
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
	const title = "Nothing was sent";
	if (conversion.status === "PARKED") {
		return emptyState({
			title,
			text: "Parked conversions send no callbacks. They start with the first decision after your server confirms the order.",
		});
	}
	if (conversion.status === "EXPIRED") {
		return emptyState({
			title,
			text: "Your server did not confirm the order in time. Expired conversions send no callbacks. If your server reports the order now, it is recorded as a new sale.",
		});
	}
	if (conversion.source === "import") {
		return emptyState({
			title,
			text: "This conversion was decided before the network moved here, and imported. Imports send no callbacks. A reversal made here sends one.",
		});
	}
	if (moves.length > 0 && moves.every(({ move }) => announcedBy(move) === null)) {
		return emptyState({
			title,
			text: "Your server confirmed the order, and the answer to its request said so. Callbacks start with the first decision.",
		});
	}
	return emptyState({
		title,
		text: "Only changes after the Postback URL was saved are sent, and only once a signing secret exists. Callbacks older than the retention period are no longer listed.",
		action: linkButton({
			label: "Status callback",
			href: `${integrationPath(programme.public_id)}#callback`,
		}),
	});
}

function renderActions({ programme, conversion, standing, csrf, refused, from }: ConversionView): Content {
	const moves = movesFor(standing, conversion.status);
	if (moves.length === 0) return null;
	return html`<div class="card">${postForm({
		action: `${conversionPath(programme.public_id, conversion.public_id)}/decide`,
		csrf,
		className: "list-form",
		body: html`${Object.entries(from).map(([name, value]) =>
			value === undefined ? null : html`<input type="hidden" name="${name}" value="${value}">`,
		)}${decisionBar({ moves, refused })}`,
	})}</div>`;
}

/** The contract says nothing about differing amounts: the server's counts, and we show both. */
function mismatchMessage({ pixel_basket_value: pixelValue, basket_value, currency }: Conversion): Content {
	if (pixelValue === null || pixelValue === basket_value) return null;
	return message(
		"warn",
		html`<strong>The amounts differ.</strong> The pixel reported ${pixelValue} ${currency}, the shop's server ${basket_value} ${currency}. The server's amount counts.`,
	);
}

function factsOf(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { currency } = conversion;
	return [
		["Order ID", copyable(conversion.order_id, "order id")],
		["Conversion ID", copyable(conversion.public_id, "conversion id")],
		["Event type", titleCase(conversion.event_type)],
		["Reported by", REPORTER_WORDS[conversion.source]],
		...confirmation(conversion),
		["Basket", amount(conversion.basket_value, currency)],
		["Commission", amount(conversion.commission, currency)],
		["Network fee", amount(conversion.network_fee, currency)],
		["Time of the sale", timeTag(conversion.occurred_at_ms)],
		[conversion.source === "import" ? "Imported" : "Recorded", timeTag(conversion.created_at_ms)],
		...outlook(conversion),
	];
}

/** Whether anybody but a browser stands behind it: what to look at before approving by hand. */
function confirmation(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { status, confirmed_at_ms: confirmedAtMs } = conversion;
	const term = "Confirmed by the shop's server";
	if (confirmedAtMs !== null) return [[term, timeTag(confirmedAtMs)]];
	if (!isUnconfirmed(conversion)) return [];
	if (status !== "RECORDED") return [[term, "No"]];
	return [[term, "Not yet. When it reports this order, its amount and time replace the pixel's."]];
}

function outlook(conversion: Conversion): readonly (readonly [term: string, value: Content])[] {
	const { status, source, window_ends_at_ms: endsAtMs, decided_by: decidedBy, reason } = conversion;
	if (endsAtMs !== null && status === "RECORDED") return [["Approved automatically on", timeTag(endsAtMs)]];
	if (endsAtMs !== null && status === "PARKED") {
		return [["Waits for confirmation until", timeTag(endsAtMs)]];
	}
	if (decidedBy === null && source !== "import") return [];
	const by = decidedBy === null ? "in the software it was imported from" : decidedByWords(decidedBy);
	const decided: readonly [string, Content] = ["Decided", by];
	return reason === null ? [decided] : [decided, ["Reason", reasonWords(reason)]];
}

/** The history: when, what, by whom, why. */
function moveTimeline({ conversion, moves, standing: reader }: ConversionView): Html {
	return html`<ol class="timeline">${moves.map(
		(move, index) =>
			html`<li><div class="row">${statusBadge(move.to_status)}<span>${sentenceFor(move, index === 0)}</span></div><p class="small soft">${timeTag(move.at_ms)}${decidedBefore(move, conversion)}${whoDecided(move, reader)}</p></li>`,
	)}</ol>`;
}

/** The time of an import is not the time of the decision. */
function decidedBefore({ move }: HistoryMove, { imported_decision_at_ms: decidedAtMs }: Conversion): Content {
	return move === "import" && decidedAtMs !== null ? html` · decided on ${timeTag(decidedAtMs)}` : null;
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
			const who = move.decided_by === null ? "decided" : decidedByWords(move.decided_by);
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
	return dataTable<ListedDelivery>({
		caption: "Callbacks, the oldest first",
		rows: deliveries,
		empty: null,
		stacks: true,
		columns: [
			{
				title: "Event",
				namesRow: true,
				cell: (row) =>
					html`<a class="mono nowrap" href="${deliveryPath(programmePublicId, row.publicId)}">${row.event}</a>`,
			},
			{ title: "State", cell: (row) => html`${stateBadge(row)} ${resentMark(row.run)}` },
			{ title: "Attempts", isNumber: true, cell: attemptCount },
			{
				title: "Last HTTP status",
				isNumber: true,
				cell: lastAnswer,
			},
			{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
			{ title: "Happened", cell: (row) => timeTag(row.createdAtMs) },
		],
	});
}

// Components that several pages use to show conversions and callbacks: labels, table cells, the banner about
// failing callbacks, and charts.

import { type AttemptOutcome, explainAttempt } from "../callbacks/attempt-cause.ts";
import { explainFailure } from "../callbacks/failure-cause.ts";
import type { PresentTrouble } from "../callbacks/failure-notices.ts";
import {
	type DecidedBy,
	type EventType,
	isByPixelAlone,
	type Reason,
	type Source,
	type Status,
} from "../domain/conversion.ts";
import type { DeliveryState } from "../domain/delivery.ts";
import type { EffectiveRates } from "../domain/rate.ts";
import { describeRates } from "../domain/rate-words.ts";
import type { ReceiverKind } from "../domain/receiver.ts";
import { showOrderId } from "../domain/visible-text.ts";
import type { Worked } from "../programmes/resend.ts";
import { type Conversion, knownOrderOf } from "../store/queries/conversions.ts";
import { MAX_COUNTED_UNDELIVERED } from "../store/queries/delivery-health.ts";
import type { ListedDelivery } from "../store/queries/delivery-list.ts";
import type { ShownNotice } from "../store/queries/notices.ts";
import { conversionPath, integrationPath, withQuery } from "./paths.ts";
import * as ui from "./ui.ts";
import { type Content, type Html, html } from "./ui.ts";

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
	RECORDED: "Recorded",
	APPROVED: "Approved",
	REJECTED: "Rejected",
	REVERSED: "Reversed",
	PARKED: "Parked",
	EXPIRED: "Expired",
};

/** Explanations of the statuses whose names do not explain themselves. */
export const STATUS_MEANINGS: Readonly<Partial<Record<Status, string>>> = {
	RECORDED: "The sale was reported, and is neither approved nor rejected yet.",
	PARKED: "Only a pixel has reported the sale. It counts when the shop's server confirms it.",
	EXPIRED: "The shop's server did not confirm the sale in time, so it does not count.",
};

export const SOURCE_WORDS: Readonly<Record<Source, string>> = {
	postback: "signed request",
	pixel: "pixel",
	test: "test",
	import: "import",
};

/**
 * Returns true if only a pixel has reported the conversion. Anyone can call a pixel, so the sale is not
 * confirmed.
 */
export function isUnconfirmed(conversion: Conversion): boolean {
	const { status } = conversion;
	return isByPixelAlone(knownOrderOf(conversion)) && status !== "PARKED" && status !== "EXPIRED";
}

export const DECIDER_WORDS: Readonly<Record<DecidedBy, string>> = {
	shop: "by the shop",
	review: "by the review team",
	window: "automatically",
};

/** Shows rates in words, one rate on each line. */
export function rateLines(rates: EffectiveRates, currency: string): Html {
	return html`${describeRates(rates, currency, ui.decimal).map((line) => html`<div>${line}</div>`)}`;
}

/** Returns a constant as pages show it. PAYMENT_FAILED becomes "Payment failed". */
export function titleCase(word: Reason | EventType): string {
	return ui.capitalise(word.toLowerCase().replaceAll("_", " "));
}

const STATUS_TONES: Readonly<Partial<Record<Status, ui.Tone>>> = {
	RECORDED: "info",
	APPROVED: "good",
	REJECTED: "bad",
	REVERSED: "warn",
};

export function statusBadge(status: Status): Html {
	return ui.badge(STATUS_TONES[status] ?? "plain", STATUS_WORDS[status]);
}

/**
 * Returns the cell with the order id, which links to the conversion's page. `back` is the address of the list
 * that shows the cell. It is undefined on the unfiltered list of the programme.
 */
export function orderCell(conversion: Conversion, programmeId: string, back: string | undefined): Html {
	const { event_type: eventType, source, test } = conversion;
	// For a test from the Integration page the source is left out, because the mark "Test" already says it.
	const way = source === "test" ? null : ` · ${SOURCE_WORDS[source]}`;
	const href = withQuery(conversionPath(programmeId, conversion.public_id), { back });
	// A long id is cut off with an ellipsis, and the title attribute contains the whole id.
	return html`<a class="order-id mono" href="${href}" title="${showOrderId(conversion.order_id)}">${showOrderId(conversion.order_id)}</a><span class="secondary">${titleCase(eventType)}${way}${isUnconfirmed(conversion) ? ", unconfirmed" : null}${
		test === 1 ? html` · <span class="test-mark">Test</span>` : null
	}</span>`;
}

/** Shows the status in a list. `zone` is the time zone of the list's days. */
export function statusCell(conversion: Conversion, zone: string): Html {
	const { status, reason } = conversion;
	return html`${statusBadge(status)}${secondaryLine(nextStep(conversion, zone))}${secondaryLine(reason === null ? null : titleCase(reason))}`;
}

function secondaryLine(content: Content): Html | null {
	return content === null ? null : html`<span class="secondary">${content}</span>`;
}

/** Returns what will happen automatically and when. If the conversion is decided, returns when and by whom. */
function nextStep(conversion: Conversion, zone: string): Html | null {
	const {
		status,
		window_ends_at_ms: endsAtMs,
		decided_by: decidedBy,
		decided_at_ms: decidedAtMs,
	} = conversion;
	if (endsAtMs !== null && status === "RECORDED") return html`approves on ${ui.dayTag(endsAtMs, zone)}`;
	if (endsAtMs !== null && status === "PARKED")
		return html`waits for the shop's server until ${ui.dayTag(endsAtMs, zone)}`;
	if (decidedAtMs === null) return decidedBy === null ? null : html`${DECIDER_WORDS[decidedBy]}`;
	return html`${ui.dayTag(decidedAtMs, zone)}${decidedBy === null ? null : ` ${DECIDER_WORDS[decidedBy]}`}`;
}

// Short words for the state of a delivery, the same on all pages.

export const STATE_WORDS: Readonly<Record<DeliveryState, string>> = {
	pending: "Pending",
	delivered: "Delivered",
	failed: "Failed",
	cancelled: "Cancelled",
};

interface DeliveryProgress {
	state: DeliveryState;
	attempts: number;
	run: number;
	dueAtMs: number | null;
	setAside: number | null;
	test: number;
}

const STATE_TONES: Readonly<Record<Exclude<DeliveryState, "pending">, ui.Tone>> = {
	delivered: "good",
	failed: "bad",
	cancelled: "plain",
};

function stateBadge({ state, attempts }: DeliveryProgress): Html {
	if (state !== "pending") return ui.badge(STATE_TONES[state], STATE_WORDS[state]);
	return attempts === 0 ? ui.badge("info", STATE_WORDS.pending) : ui.badge("warn", "Retrying");
}

/** Shows the state of a delivery, and whether a person sent it again or set it aside after it failed. */
export function stateCell(delivery: DeliveryProgress): Html {
	const isSetAside = delivery.setAside === 1 && delivery.test === 0;
	const done = [delivery.run > 1 ? "resent by hand" : [], isSetAside ? "set aside" : []].flat().join(", ");
	return html`${stateBadge(delivery)} ${done === "" ? null : html`<span class="small faint nowrap">${done}</span>`}`;
}

export function nextAttempt({ state, dueAtMs }: DeliveryProgress, nowMs: number): Content {
	if (state !== "pending") return html`<span class="faint nothing">—</span>`;
	if (dueAtMs === null || dueAtMs <= nowMs) return "now";
	return ui.timeTag(dueAtMs);
}

/**
 * Shows the HTTP status of the last response. If a later attempt got no response, the cell also shows how that attempt
 * failed.
 */
export function lastAnswer({
	lastHttpStatus,
	lastAttempt,
}: {
	lastHttpStatus: number | null;
	lastAttempt: AttemptOutcome | null;
}): Content {
	const status = lastHttpStatus === null ? html`<span class="faint">—</span>` : String(lastHttpStatus);
	if (lastAttempt === null || lastAttempt.result === "answered") return status;
	const { title } = explainAttempt(lastAttempt);
	return html`${status} <span class="secondary">${lastHttpStatus === null ? "" : "then: "}${title}</span>`;
}

/** Returns the columns for lists of callbacks. Each list picks the columns that it has room for. */
export function deliveryColumns<Row extends ListedDelivery = ListedDelivery>(
	called: { kind: ReceiverKind; deliveryPath(deliveryId: string, delivery: Row): string },
	nowMs: number,
	back?: string,
) {
	return {
		event: {
			title: "Event",
			namesRow: true,
			cell: (row) =>
				html`<a href="${withQuery(called.deliveryPath(row.publicId, row), { back })}">${row.event}</a>${
					row.test === 1 ? html` ${ui.badge("info", "Test")}` : null
				}`,
		},
		// A partner must not see orders, so its list shows the conversion's id instead.
		order: {
			title: called.kind === "shop" ? "Order" : "Conversion",
			cell: ({ orderId, conversionId }) => {
				const subject = called.kind === "shop" ? showOrderId(orderId) : conversionId || "—";
				return html`<div class="mono cell-clip" title="${subject}">${subject}</div>`;
			},
		},
		state: { title: "State", cell: stateCell },
		attempts: { title: "Attempts", isNumber: true, cell: ({ attempts }) => String(attempts) },
		answer: { title: "Last HTTP status", isNumber: true, cell: lastAnswer },
		next: { title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
		when: { title: "When", cell: (row) => ui.timeTag(row.lastAttemptAtMs ?? row.createdAtMs) },
	} as const satisfies Readonly<Record<string, ui.Column<Row>>>;
}

// Messages about failing callbacks: the banner on every page of a programme, and its parts that other pages use.

/**
 * Id of the element that contains the banner. The page has this element even if there is no banner, because
 * live pages insert the banner into it.
 */
export const TROUBLE_TARGET = "trouble-live";

/**
 * Returns the banner about failing callbacks, or null if callbacks work or their failure is not serious yet.
 */
export function troubleBanner(
	trouble: PresentTrouble | null,
	pathOf: (deliveryId: string) => string,
	/** Address of the page that lists the notices. */
	notices: string,
	/** True if the reader may fix the problem. Other readers get no advice. */
	mayIntegrate: boolean,
): Html | null {
	if (trouble === null || !trouble.isSerious) return null;
	const { notice } = trouble;
	const advice = mayIntegrate ? explainFailure(notice).advice : null;
	return html`<section class="message message-bad" aria-label="Callbacks are failing"><div>
	<p><strong>Callbacks are failing</strong> since ${ui.timeTag(notice.opened_at_ms)}. ${lastFailure(notice, pathOf)}</p>
	<p>${advice} <a href="${notices}">See the notice</a></p>
</div></section>`;
}

/** Says when the last callback failed, for which order and why, with a link to the callback. */
export function lastFailure(notice: ShownNotice, pathOf: (deliveryId: string) => string): Html {
	const { cause } = explainFailure(notice);
	const when = notice.last_failed_at_ms === null ? null : html` ${ui.timeTag(notice.last_failed_at_ms)}`;
	const subject =
		notice.lastOrderId === null
			? notice.lastConversionId
			: html`order <span class="break">${notice.lastOrderId}</span>`;
	const callback =
		subject === null || notice.lastDeliveryPublicId === null
			? null
			: html`, <a href="${pathOf(notice.lastDeliveryPublicId)}">${subject}</a>`;
	const what = notice.failures > 0 ? "Last permanent failure" : "Last failed attempt";
	return html`${what}${when}${callback}: ${cause}`;
}

export function deliveriesPath(programmeId: string, state: "pending" | "failed"): string {
	return `${withQuery(integrationPath(programmeId), { state })}#deliveries`;
}

export function callbacksOf(number: number): string {
	return number === 1 ? "1 callback" : `${countUndelivered(number)} callbacks`;
}

export function countUndelivered(number: number): string {
	return ui.countUpTo(number, MAX_COUNTED_UNDELIVERED);
}

/**
 * Returns the message after a form that works in batches. It says how many callbacks were handled and how
 * many are left. `done` describes the action, such as "being sent again".
 */
export function batchMessage({ count, isAll }: Worked, done: string, none: string, left: number) {
	if (count === 0 && isAll) return ["info", none] as const;
	const rest = isAll || left <= 0 ? "" : ` ${callbacksAre(left)} left: press the button again.`;
	return ["good", `${callbacksAre(count)} ${done}.${rest}`] as const;
}

/** Returns a number of callbacks with its verb, such as "1 callback is" or "2 callbacks are". */
export function callbacksAre(callbacks: number, noun = "callback"): string {
	return `${ui.countOf(callbacks, noun)} ${callbacks === 1 ? "is" : "are"}`;
}

// Chart with a table of its values for screen readers and for browsers without scripts.

export interface ChartSeries {
	label: string;
	/** Name of the style sheet's variable, such as --chart-good, which has a colour for each theme. */
	colour: "good" | "bad" | "warn" | "info" | "plain";
	/** Values of the series, one for each day of the chart. */
	values: readonly number[];
}

interface ChartView {
	id: string;
	title: string;
	/** Days in the form YYYY-MM-DD. */
	days: readonly string[];
	series: readonly ChartSeries[];
	/** Content to show instead of the chart if every value is zero. */
	empty: Content;
}

export function chart(view: ChartView): Html {
	const { days, series } = view;
	if (series.every(({ values }) => values.every((value) => value === 0))) return html`${view.empty}`;
	const data = JSON.stringify({ days, series });
	return html`<figure class="chart" id="${view.id}">
	<figcaption><h3>${view.title}</h3></figcaption>
	<div class="chart-plot" data-chart="${data}" aria-hidden="true"></div>
	<details class="more"><summary>The numbers behind “${view.title}”</summary>
		${ui.dataTable<{ day: string; index: number }>({
			caption: `${view.title}, as a table`,
			rows: days.map((day, index) => ({ day, index })),
			empty: null,
			columns: [
				{ title: "Day", cell: ({ day }) => html`<time class="nowrap" datetime="${day}">${day}</time>` },
				...series.map(({ label, values }) => ({
					title: label,
					isNumber: true,
					cell: ({ index }: { index: number }) => ui.count(values[index] ?? 0),
				})),
			],
		})}
	</details>
</figure>`;
}

// Shows the health of callbacks: their state now and in the last 24 hours, the shop's response time, the oldest
// pending callback, and a chart of the last 14 days.

import type { CallbackHealth } from "../../callbacks/health.ts";
import { MAX_COUNTED_UNDELIVERED } from "../../store/queries/delivery-health.ts";
import { chart, countUndelivered } from "../conversion-ui.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

/** Shows the key figures. Only staff see the 95th percentile of response times. */
export function healthStrip(health: CallbackHealth, isStaff: boolean): Html {
	const { delivered, failed, p95Ms, pending } = health;
	const sent = delivered + failed;
	const speed = {
		label: "95th percentile response time",
		value: p95Ms === null ? "—" : `${ui.count(Math.round(p95Ms))} ms`,
		hint: `${ui.count(5_000)} ms is the limit`,
	};
	return ui.statStrip([
		presentState(health),
		{
			label: "Successful (2xx), last 24 hours",
			value: sent === 0 ? "—" : `${sharePercent(delivered, sent)} %`,
			hint:
				sent === 0
					? "nothing was sent (tests do not count)"
					: `${ui.count(delivered)} of ${ui.count(sent)} attempts`,
		},
		...(isStaff ? [speed] : []),
		{
			label: "Pending",
			value: countUndelivered(pending.count),
			hint: oldestHint(pending),
		},
	]);
}

/** Returns the state of callbacks right now, because callbacks may fail now although the last 24 hours look good. */
function presentState({ trouble, delivered }: CallbackHealth): ui.Stat {
	const label = "Right now";
	if (trouble === null) {
		return delivered === 0
			? { label, value: "—", hint: "nothing was delivered in the last 24 hours (tests do not count)" }
			: { label, value: ui.badge("good", "Working"), hint: "the last attempt succeeded" };
	}
	const { notice, isSerious } = trouble;
	const since = html`since ${ui.timeTag(notice.opened_at_ms)}`;
	if (isSerious) return { label, value: ui.badge("bad", "Failing"), hint: since };
	const failures = ui.countOf(notice.failed_attempts, "attempt");
	return { label, value: ui.badge("warn", "Retrying"), hint: html`${failures} failed ${since}` };
}

function oldestHint({ count: waiting, oldestAtMs }: CallbackHealth["pending"]): Content {
	if (oldestAtMs === null) return "none";
	return html`oldest from ${ui.timeTag(oldestAtMs)}${waiting >= MAX_COUNTED_UNDELIVERED ? " or older" : null}`;
}

/** Returns the percentage with one decimal. It is rounded down, so that 99.96 % does not become 100 %. */
export function sharePercent(delivered: number, sent: number): string {
	return ui.count(Math.floor((delivered / sent) * 1_000) / 10);
}

export function healthChart({ days }: CallbackHealth): Html {
	const empty = ui.emptyState({
		title: "No attempts in the last 14 days",
		text: "Attempts appear here as soon as they finish. Tests are not counted.",
	});
	return attemptsChart("health-chart", days, empty);
}

export function attemptsChart(id: string, days: CallbackHealth["days"], empty: Html): Html {
	return chart({
		id,
		title: "Attempts per day",
		empty,
		days: days.map(({ day }) => day),
		series: [
			{ label: "Successful (2xx)", colour: "good", values: days.map(({ delivered }) => delivered) },
			{ label: "Failed", colour: "bad", values: days.map(({ failed }) => failed) },
		],
	});
}

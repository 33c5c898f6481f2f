// The health strip: how callbacks went in the last 24 hours, how fast the shop answers, what waits longest, and
// the last 14 days as a chart with its table.

import { html } from "hono/html";
import type { CallbackHealth } from "../../callbacks/health.ts";
import { MAX_COUNTED_PENDING } from "../../store/delivery-health.ts";
import { emptyState, padded, section, statStrip } from "../components/blocks.ts";
import { chart } from "../components/chart.ts";
import { count, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";

export const HEALTH_CHART_TARGET = "health-chart-live";

export function healthStrip({ delivered, failed, p95Ms, pending }: CallbackHealth): Html {
	const sent = delivered + failed;
	return statStrip([
		{
			label: "Answered 2xx, last 24 h",
			value: sent === 0 ? "—" : `${sharePercent(delivered, sent)} %`,
			hint: sent === 0 ? "nothing was sent" : `${count(delivered)} of ${count(sent)} attempts`,
		},
		{
			label: "95 % answer within",
			value: p95Ms === null ? "—" : `${count(Math.round(p95Ms))} ms`,
			hint: `${count(5_000)} ms is the limit`,
		},
		{
			label: "On their way",
			value: countPending(pending.count),
			hint: oldestHint(pending),
		},
	]);
}

/** As far as they are counted. */
export function countPending(pending: number): string {
	return pending >= MAX_COUNTED_PENDING ? `${count(MAX_COUNTED_PENDING)}+` : count(pending);
}

function oldestHint({ count: waiting, oldestAtMs }: CallbackHealth["pending"]): Content {
	if (oldestAtMs === null) return "nothing waits";
	return html`oldest of ${timeTag(oldestAtMs)}${waiting >= MAX_COUNTED_PENDING ? " or older" : null}`;
}

/** One decimal, cut: 99.96 % is not all. */
function sharePercent(delivered: number, sent: number): string {
	return String(Math.floor((delivered / sent) * 1_000) / 10);
}

export function healthSection(health: CallbackHealth): Html {
	return section({
		id: "health",
		title: "The last 14 days",
		hint: "Attempts a day, in UTC: answered 2xx, and everything else.",
		body: padded(html`<div id="${HEALTH_CHART_TARGET}">${healthChart(health)}</div>`),
	});
}

/** What is pushed. */
export function healthChart({ days }: CallbackHealth): Html {
	return chart({
		id: "health-chart",
		title: "Attempts a day",
		days: days.map(({ day }) => day),
		isStacked: true,
		series: [
			{ label: "Answered 2xx", colour: "good", values: days.map(({ delivered }) => delivered) },
			{ label: "Not answered 2xx", colour: "bad", values: days.map(({ failed }) => failed) },
		],
		empty: emptyState({
			title: "Nothing was sent in these days",
			text: "Each attempt counts here as soon as it has ended.",
		}),
	});
}

// The health strip: how callbacks went in the last 24 hours, how fast the shop answers, what waits longest, and
// the last 14 days as a chart with its table.

import { html } from "hono/html";
import type { CallbackHealth } from "../../callbacks/health.ts";
import { MAX_COUNTED_PENDING } from "../../store/delivery-health.ts";
import { padded, section, statStrip } from "../components/blocks.ts";
import { chart } from "../components/chart.ts";
import { count, timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

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
			value: pending.count >= MAX_COUNTED_PENDING ? `${count(MAX_COUNTED_PENDING)}+` : count(pending.count),
			hint: pending.oldestAtMs === null ? "nothing waits" : html`oldest of ${timeTag(pending.oldestAtMs)}`,
		},
	]);
}

/** One decimal, cut: 99.96 % is not all. */
function sharePercent(delivered: number, sent: number): string {
	return String(Math.floor((delivered / sent) * 1_000) / 10);
}

export function healthSection({ days }: CallbackHealth): Html {
	return section({
		id: "health",
		title: "The last 14 days",
		hint: "Attempts a day, in UTC: answered 2xx, and everything else.",
		body: padded(
			chart({
				id: "health-chart",
				title: "Attempts a day",
				days: days.map(({ day }) => day),
				isStacked: true,
				series: [
					{ label: "Answered 2xx", colour: "good", values: days.map(({ delivered }) => delivered) },
					{ label: "Failed", colour: "bad", values: days.map(({ failed }) => failed) },
				],
			}),
		),
	});
}

// A chart with the table it is drawn from. Without scripts, and for those who cannot see it, the table is the chart.

import { html } from "hono/html";
import type { Content, Html } from "../html.ts";

export interface ChartSeries {
	label: string;
	/** A variable of the style sheet (--chart-good and so on), which has a colour for each theme. */
	colour: "good" | "bad" | "warn" | "info" | "plain";
	/** One for each label on the axis. */
	values: readonly number[];
}

export interface ChartView {
	id: string;
	title: string;
	/** Days as YYYY-MM-DD. */
	days: readonly string[];
	series: readonly ChartSeries[];
	isStacked?: boolean;
	/** What stands in its place while every value is zero. */
	empty: Content;
}

export function chart(view: ChartView): Html {
	const { days, series } = view;
	if (series.every(({ values }) => values.every((value) => value === 0))) return html`${view.empty}`;
	const data = JSON.stringify({ days, series, isStacked: view.isStacked === true });
	return html`<figure class="chart" id="${view.id}">
	<figcaption><h3>${view.title}</h3></figcaption>
	<div class="chart-plot" data-chart="${data}" aria-hidden="true"></div>
	<details class="more"><summary>The numbers behind “${view.title}”</summary>
		<div class="table-scroll" tabindex="0" role="region" aria-label="${view.title}, as a table"><table>
			<caption class="visually-hidden">${view.title}</caption>
			<thead><tr><th scope="col">Day</th>${series.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}</tr></thead>
			<tbody>${days.map(
				(day, index) =>
					html`<tr><th scope="row" class="nowrap">${day}</th>${series.map(
						({ values }) => html`<td class="number">${values[index] ?? 0}</td>`,
					)}</tr>`,
			)}</tbody>
		</table></div>
	</details>
</figure>`;
}

// The deliveries of one conversion: what was sent, how it went, and the way to its attempts.

import { html } from "hono/html";
import type { ListedDelivery } from "../../store/delivery-list.ts";
import { lastAnswer, nextAttempt, resentMark, stateBadge } from "../components/delivery-words.ts";
import { dataTable } from "../components/lists.ts";
import { count, timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";
import { deliveryPath } from "../paths.ts";

export function deliveryTable(
	programmePublicId: string,
	deliveries: readonly ListedDelivery[],
	nowMs: number,
): Html {
	return dataTable<ListedDelivery>({
		caption: "Deliveries, the oldest first",
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
			{ title: "Attempts", isNumber: true, cell: (row) => count(row.attempts) },
			{
				title: "Last HTTP status",
				isNumber: true,
				cell: (row) => lastAnswer(row.lastHttpStatus, row.attempts),
			},
			{ title: "Next attempt", cell: (row) => nextAttempt(row, nowMs) },
			{ title: "Happened", cell: (row) => timeTag(row.createdAtMs) },
		],
	});
}

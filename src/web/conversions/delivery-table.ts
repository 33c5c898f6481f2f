// The deliveries of one conversion: what was sent, how it went, and the way to its attempts.

import { html } from "hono/html";
import type { DeliveryState } from "../../domain/delivery.ts";
import type { ConversionDelivery } from "../../store/conversion-history.ts";
import { DELIVERY_WORDS } from "../components/conversion-words.ts";
import { dataTable } from "../components/lists.ts";
import { badge, count, type Tone, timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

const TONES: Readonly<Record<DeliveryState, Tone>> = {
	pending: "info",
	delivered: "good",
	failed: "bad",
	cancelled: "plain",
};

export function deliveryTable(programmePublicId: string, deliveries: readonly ConversionDelivery[]): Html {
	return dataTable<ConversionDelivery>({
		caption: "Deliveries, the oldest first",
		rows: deliveries,
		empty: null,
		columns: [
			{
				title: "Event",
				cell: (row) =>
					html`<a class="mono nowrap" href="/programmes/${programmePublicId}/deliveries/${row.public_id}">${row.event}</a>`,
			},
			{ title: "State", cell: (row) => badge(TONES[row.state], DELIVERY_WORDS[row.state]) },
			{ title: "Attempts", isNumber: true, cell: (row) => count(row.attempts) },
			{
				title: "Last HTTP status",
				isNumber: true,
				cell: (row) => (row.last_http_status === null ? "–" : String(row.last_http_status)),
			},
			{ title: "Happened", cell: (row) => timeTag(row.created_at_ms) },
		],
	});
}

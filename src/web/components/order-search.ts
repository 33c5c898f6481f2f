// The field that looks for an order, the same above every list that has one.

import { html } from "hono/html";
import { MAX_ORDER_ID_CHARACTERS } from "../../domain/order-id.ts";
import type { Html } from "../html.ts";
import { textField } from "./forms.ts";

export interface SearchedOrder {
	name: string;
	value: string;
	error: string | undefined;
}

/** Finds by any part of an order id, and by a conversion id. Has the width that is left. */
export function orderSearch(field: SearchedOrder): Html {
	const look = { label: "Order or conversion ID", placeholder: "Any part of an order ID", isMono: true };
	return html`<div class="field-search">${orderField(field, look)}</div>`;
}

export function wholeOrderSearch(field: SearchedOrder): Html {
	return orderField(field, { label: "Order ID", placeholder: "The whole order ID", isMono: false });
}

function orderField(
	field: SearchedOrder,
	{ label, placeholder, isMono }: { label: string; placeholder: string; isMono: boolean },
): Html {
	return textField({
		...field,
		label,
		type: "search",
		placeholder,
		maxLength: MAX_ORDER_ID_CHARACTERS,
		isMono,
	});
}

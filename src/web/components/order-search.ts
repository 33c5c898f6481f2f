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

/** Finds by how an order id starts, too. Has the width that is left. */
export function orderSearch(field: SearchedOrder): Html {
	return html`<div class="field-search">${orderField(field, "Or how it starts", true)}</div>`;
}

export function wholeOrderSearch(field: SearchedOrder): Html {
	return orderField(field, "The whole order id", false);
}

function orderField(field: SearchedOrder, placeholder: string, isMono: boolean): Html {
	return textField({
		...field,
		label: "Order id",
		type: "search",
		placeholder,
		maxLength: MAX_ORDER_ID_CHARACTERS,
		isMono,
	});
}

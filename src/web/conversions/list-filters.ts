// The bar of filters above the list: what was typed stays, and what is wrong with it is said at its field.

import { html } from "hono/html";
import { EVENT_TYPES, STATUSES } from "../../domain/conversion.ts";
import { STATUS_WORDS, titleCase } from "../components/conversion-words.ts";
import { selectField, textField } from "../components/forms.ts";
import { filterBar } from "../components/lists.ts";
import { orderSearch } from "../components/order-search.ts";
import type { ReadFilters } from "../filter-query.ts";
import type { Html } from "../html.ts";
import type { ListQuery } from "./list-query.ts";

export function listFilters(base: string, { query, problems, typed }: ReadFilters<ListQuery>): Html {
	const field = (name: keyof ListQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	// A browser shows no day that is none, and complains about it.
	const day = (name: "from" | "to") => ({ ...field(name), value: query[name] ?? "" });
	const anything = { value: "", label: "Any" };
	const search = orderSearch(field("orderId"));
	const fields = [
		selectField({
			...field("status"),
			label: "Status",
			options: [anything, ...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] }))],
		}),
		selectField({
			...field("eventType"),
			label: "Event type",
			options: [anything, ...EVENT_TYPES.map((value) => ({ value, label: titleCase(value) }))],
		}),
		selectField({
			...field("test"),
			label: "Test",
			options: [anything, { value: "no", label: "Real ones" }, { value: "yes", label: "Tests" }],
		}),
		textField({ ...day("from"), label: dayLabel("From", query.zone), type: "date" }),
		textField({ ...day("to"), label: dayLabel("To", query.zone), type: "date" }),
		html`<input type="hidden" name="zone" value="${query.zone ?? ""}" data-zone>`,
	];
	const isSet = Object.keys(typed).some((name) => name !== "cursor" && name !== "zone");
	return filterBar({
		action: base,
		label: "Filter conversions",
		search,
		fields,
		...(isSet ? { clearHref: base } : {}),
	});
}

/** Whose day it is, for whoever has no scripts or came by somebody else's link: the page's script hides one's own. */
function dayLabel(text: string, zone: string | undefined): Html {
	return html`${text}<span class="zone-mark"> (${zone ?? "UTC"})</span>`;
}

// The bar of filters above Review: what was typed stays, and what is wrong with it is said at its field.

import { STATUSES } from "../../domain/conversion.ts";
import type { ProgrammeName } from "../../store/programme-access.ts";
import type { Programme } from "../../store/programmes.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import { selectField, textField } from "../components/forms.ts";
import { filterBar } from "../components/lists.ts";
import { orderSearch } from "../components/order-search.ts";
import type { ReadFilters } from "../filter-query.ts";
import type { Html } from "../html.ts";
import { AGE_OPTIONS, type ReviewQuery } from "./review-query.ts";

export function reviewFilters(
	{ problems, typed }: ReadFilters<ReviewQuery>,
	programme: Programme | undefined,
	/** For the menu. */
	newest: readonly ProgrammeName[],
): Html {
	const field = (name: keyof ReviewQuery) => ({ name, value: typed[name] ?? "", error: problems[name] });
	const listed = newest.map(({ publicId, name }) => ({ value: publicId, label: name }));
	// The one that is chosen may be older than those in the menu.
	const isListed = programme === undefined || listed.some(({ value }) => value === programme.public_id);
	const chosen =
		isListed || programme === undefined ? [] : [{ value: programme.public_id, label: programme.name }];
	const search = orderSearch(field("orderId"));
	const fields = [
		selectField({
			...field("programme"),
			label: "Programme",
			options: [{ value: "", label: "All" }, ...chosen, ...listed],
		}),
		selectField({
			...field("status"),
			label: "Status",
			value: typed["status"] ?? "RECORDED",
			options: [
				{ value: "", label: "Any" },
				...STATUSES.map((value) => ({ value, label: STATUS_WORDS[value] })),
			],
		}),
		textField({
			...field("minBasket"),
			label: "Basket at least",
			inputMode: "decimal",
			placeholder: "1000.00",
		}),
		selectField({
			...field("age"),
			label: "Recorded",
			options: [{ value: "", label: "Any time" }, ...AGE_OPTIONS],
		}),
	];
	const isSet = Object.keys(typed).some((name) => name !== "after");
	return filterBar({
		action: "/review",
		label: "Filter conversions",
		search,
		fields,
		...(isSet ? { clearHref: "/review" } : {}),
	});
}

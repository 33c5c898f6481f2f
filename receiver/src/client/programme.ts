// The programme as the service returns it, with the terms on which a shop's code depends.

import { readFields } from "../field-reader.ts";
import { isObject } from "../json.ts";
import type { OrLater } from "../words.ts";
import { notPromised, type ReadAnswer } from "./answer.ts";

export type Programme = {
	readonly id: string;
	readonly name: string;
	readonly currency: string;
	/** Word for what `basketValue` contains, such as `TOTAL`. */
	readonly basketRule: OrLater<"TOTAL">;
	/** Sentence that says what `basketValue` contains. */
	readonly basketRuleText: string;
	/** Number of days after which a conversion is approved automatically. */
	readonly approvalDays: number;
	/** True if sales are credited to partners. */
	readonly creditsPartners: boolean;
	/** Name of the query parameter with the click ID. */
	readonly clickParameter: string;
	/** Number of days for which a click counts. */
	readonly clickDays: number;
};

export const readProgramme: ReadAnswer<{ readonly programme: Programme }> = (json) => {
	const fields = isObject(json) ? json["programme"] : undefined;
	if (!isObject(fields)) return notPromised("it has no programme");
	const { text, flag, count, wrong } = readFields<keyof Programme>(fields);
	const programme: Programme = {
		id: text("id"),
		name: text("name"),
		currency: text("currency"),
		basketRule: text("basketRule"),
		basketRuleText: text("basketRuleText"),
		approvalDays: count("approvalDays"),
		creditsPartners: flag("creditsPartners"),
		clickParameter: text("clickParameter"),
		clickDays: count("clickDays"),
	};
	if (wrong.length === 0) return { ok: true, value: { programme } };
	return notPromised(`missing or of the wrong type: ${wrong.map(({ name }) => name).join(", ")}`);
};

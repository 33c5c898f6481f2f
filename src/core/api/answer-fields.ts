import * as z from "zod";
import { AMOUNT_PATTERN } from "./sale-fields.ts";

export const AMOUNT = z
	.string()
	.regex(new RegExp(AMOUNT_PATTERN))
	.meta({ examples: ["129.90"] });

/** Time in the format of Date.prototype.toISOString. */
export const UTC_TIME = z
	.string()
	.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
	.meta({ format: "date-time" });

export function idOf(prefix: string) {
	const pattern = new RegExp(`^${prefix}_[0-9A-Z]{26}$`);
	return z.string().regex(pattern, `must be an ID that starts with ${prefix}_`);
}

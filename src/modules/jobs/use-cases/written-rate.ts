// Parses rates as files write them: a percentage, after which a fixed amount may follow, such as "8", "7,5 %",
// "8+1.00" or "0+5". The fixed amount is in the programme's currency.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { parseRate, zeroIn } from "#core/domain/money.ts";
import type { Rate } from "#core/domain/rate.ts";
import { parseFixed } from "#core/domain/rate-words.ts";

export function readWrittenRate(text: string, currency: string, field: string): Result<Rate> {
	const [percentText = "", fixedText, ...more] = text.split("+").map((part) => part.trim());
	if (more.length > 0) {
		const rule = `${field} must be a percentage, such as 8. A fixed amount may follow after a plus sign, as in 8+1.00.`;
		return refuse("invalid_rate", rule, field);
	}
	const percent = parseRate(percentText, field);
	if (!percent.ok) return percent;
	if (fixedText === undefined) return succeed({ percent: percent.value, fixed: zeroIn(currency) });
	if (fixedText === "")
		return refuse("invalid_rate", `${field} ends with a plus sign. Add the fixed amount.`, field);
	const fixed = parseFixed(fixedText, currency, field);
	return fixed.ok ? succeed({ percent: percent.value, fixed: fixed.value }) : fixed;
}

// Rates as people write and read them. In forms, files and the audit log a rate is "8 % + 1.00 EUR", and rates for
// event types are lines such as "LEAD: 5.00 EUR, fee 1.00 EUR". Each number has its unit, because "LEAD: 5" could mean
// a percentage or an amount. On pages and in mails a rate is "8 % of the basket + 1.00 EUR".

import { EVENT_TYPES, type EventType } from "./conversion.ts";
import { type Result, refuse, succeed } from "./fault.ts";
import {
	CURRENCIES,
	isZero,
	parseFormAmount,
	parseRate,
	sampleAmount,
	shortenRate,
	zeroIn,
} from "./money.ts";
import type { EffectiveRates, Rate, Rates } from "./rate.ts";

type ByType<Value> = Readonly<Partial<Record<EventType, Value>>>;

type Decimal = (value: string) => string;

const NOUNS: Readonly<Record<EventType, string>> = {
	SALE: "sale",
	LEAD: "lead",
	SIGNUP: "sign-up",
	SUBSCRIPTION: "subscription",
	RENEWAL: "renewal",
	INSTALL: "install",
	OTHER: "conversion of another type",
};

/** Describes rates to people, with the general rate first, such as "8 % of the basket" and "5.00 EUR for each lead". */
export function describeRates(
	{ general, byType }: EffectiveRates,
	currency: string,
	decimal: Decimal = (value) => value,
): string[] {
	const describe = ({ percent, fixed }: Rate) => [
		...(isZero(percent) ? [] : [`${decimal(shortenRate(percent))} % of the basket`]),
		...(isZero(fixed) ? [] : [`${decimal(fixed)} ${currency}`]),
	];
	const describeFor = (rate: Rate, noun: string) =>
		`${describe(rate).join(" + ") || "nothing"} for each ${noun}`;
	const first = isZero(general.percent) ? describeFor(general, "conversion") : describe(general).join(" + ");
	const others = EVENT_TYPES.flatMap((type) => {
		const rate = byType[type];
		return rate === undefined ? [] : [describeFor(rate, NOUNS[type])];
	});
	return [first, ...others];
}

/** Writes a rate as people enter it, such as "8 % + 1.00 EUR". */
export function sayRate({ percent, fixed }: Rate, currency: string): string {
	const parts = [
		...(isZero(percent) ? [] : [`${shortenRate(percent)} %`]),
		...(isZero(fixed) ? [] : [`${fixed} ${currency}`]),
	];
	return parts.join(" + ") || "0 %";
}

export function sayRates({ commission, fee }: Rates, currency: string): string {
	return `${sayRate(commission, currency)}, fee ${sayRate(fee, currency)}`;
}

export function sayByType<Value>(byType: ByType<Value>, say: (value: Value) => string): string {
	return EVENT_TYPES.flatMap((type) => {
		const value = byType[type];
		return value === undefined ? [] : [`${type}: ${say(value)}`];
	}).join("\n");
}

/** Parses the fixed amount of a rate. Empty text means the amount 0. */
export function parseFixed(text: string, currency: string, field: string): Result<string> {
	if (text === "") return succeed(zeroIn(currency));
	const parsed = parseFormAmount(text, currency, field, "fixed amount");
	if (parsed.ok || parsed.fault.code !== "negative_amount") return parsed;
	const detail = `${parsed.fault.detail} Enter 0 or leave it empty if there is none.`;
	return refuse("negative_amount", detail, field);
}

export function parseRatesByType(text: string, currency: string, field: string): Result<ByType<Rates>> {
	const example = `${sampleAmount(currency)} ${currency}`;
	return parseByType(text, field, `${example}, fee 0`, (rest, type) => {
		const [, before = "", after] = /^(.*?)(?:[\s,]+fee[\s:]+(.*))?$/i.exec(rest) ?? [];
		if (after === undefined) {
			const cure = `Add the network fee, such as “${type}: ${example}, fee 2 %”, or “fee 0” if there is none.`;
			return refuse("invalid_rate", cure, field);
		}
		const commission = parseRateWords(before, currency, field);
		if (!commission.ok) return commission;
		const fee = parseRateWords(after, currency, field);
		return fee.ok ? succeed({ commission: commission.value, fee: fee.value }) : fee;
	});
}

export function parseCommissionsByType(text: string, currency: string, field: string): Result<ByType<Rate>> {
	return parseByType(text, field, `${sampleAmount(currency)} ${currency}`, (rest) =>
		parseRateWords(rest, currency, field),
	);
}

/** Maximum length of the text with rates for event types. Seven lines need less than half of it. */
export const MAX_BY_TYPE_LENGTH = 1_000;
/** Maximum length of a text that a refusal repeats. */
const MAX_REPEATED_LENGTH = 60;

/** Parses lines with an event type and its rate. Semicolons may replace the line breaks. */
function parseByType<Value>(
	text: string,
	field: string,
	example: string,
	parse: (rest: string, type: EventType) => Result<Value>,
): Result<ByType<Value>> {
	if (text.length > MAX_BY_TYPE_LENGTH) {
		return refuse("invalid_rate", `Enter at most ${MAX_BY_TYPE_LENGTH} characters.`, field);
	}
	const byType: Partial<Record<EventType, Value>> = {};
	const lines = text.split(/[\r\n;]+/).map((line) => line.trim());
	for (const line of lines.filter((each) => each !== "")) {
		const [, word, rest = ""] = /^([^:=]+)[:=](.*)$/.exec(line) ?? [];
		if (word === undefined) {
			const [first = ""] = line.split(/\s/, 1);
			const problem =
				typeNamed(first) === undefined ? "has no event type" : "has no colon after its event type";
			const cure = `“${shorten(line)}” ${problem}. Write one on each line, such as “LEAD: ${example}”.`;
			return refuse("invalid_rate", cure, field);
		}
		const type = typeNamed(word);
		if (type === undefined) {
			const cure = `“${shorten(word.trim())}” is not an event type. Use ${EVENT_TYPES.join(", ")}.`;
			return refuse("unknown_event_type", cure, field);
		}
		if (byType[type] !== undefined) {
			return refuse("invalid_rate", `${type} has two rates. Keep one of them.`, field);
		}
		const parsed = parse(rest.trim(), type);
		if (!parsed.ok) return refuse(parsed.fault.code, `${type}: ${parsed.fault.detail}`, field);
		byType[type] = parsed.value;
	}
	return succeed(byType);
}

function typeNamed(word: string): EventType | undefined {
	return EVENT_TYPES.find((each) => each === word.replace(/[\s_-]/g, "").toUpperCase());
}

/** Parses a rate with its units, such as "8 %", "5.00 EUR" or "8 % + 5.00 EUR". The rate 0 needs no unit. */
function parseRateWords(text: string, currency: string, field: string): Result<Rate> {
	const zero: Rate = { percent: "0.0000", fixed: zeroIn(currency) };
	if (text === "0") return succeed(zero);
	const rate: Partial<Rate> = {};
	for (const part of text.split("+").map((each) => each.trim())) {
		const isPercent = part.endsWith("%");
		const [, amount] = new RegExp(`^(.+?)\\s*${currency}$`, "i").exec(part) ?? [];
		const name = isPercent ? "percent" : "fixed";
		if ((!isPercent && amount === undefined) || rate[name] !== undefined)
			return unreadable(text, currency, field);
		const parsed = isPercent ? parseRate(part, `“${part}”`) : parseFixed(amount ?? "", currency, field);
		if (!parsed.ok) return parsed;
		rate[name] = parsed.value;
	}
	return succeed({ ...zero, ...rate });
}

function unreadable(text: string, currency: string, field: string): ReturnType<typeof refuse> {
	const amount = `${sampleAmount(currency)} ${currency}`;
	const other = CURRENCIES.find((code) => new RegExp(`\\d\\s*${code}\\b`, "i").test(text));
	if (other !== undefined && other !== currency) {
		const cure = `“${shorten(text)}” is in ${other}, but the programme's currency is ${currency}. Write the amount like “${amount}”.`;
		return refuse("invalid_rate", cure, field);
	}
	const cure = `“${shorten(text)}” is not a rate. Write a percentage, an amount or both: “8 %”, “${amount}” or “8 % + ${amount}”.`;
	return refuse("invalid_rate", cure, field);
}

function shorten(text: string): string {
	return text.length <= MAX_REPEATED_LENGTH ? text : `${text.slice(0, MAX_REPEATED_LENGTH)}…`;
}

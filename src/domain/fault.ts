// A fault is a refusal somebody can act on: a stable code, an HTTP status and a sentence that says what to do next. What
// the API answers is in fault-catalogue.ts.

import { type ExplainedFault, FAULTS_BY_KIND } from "./fault-catalogue.ts";

/** Met on the pages or by the command alone, by HTTP status: the place that refuses says what to do. */
const CODES_ELSEWHERE = {
	401: "wrong_credentials wrong_code code_already_used code_step_over",
	403: "form_not_valid not_allowed",
	404: "unknown_job unknown_programme unknown_person unknown_key unknown_session unknown_partner",
	409: `job_not_ready email_taken changed_meanwhile too_many_keys secret_already_prepared secret_not_prepared
		no_postback_url brand_is_fixed mail_off mail_refused
		authenticator_already_on authenticator_not_on already_partner partnership_ended too_many_links code_taken
		already_decided wrong_status`,
	410: "link_not_valid",
	422: `malformed_file too_many_rows nothing_selected postback_url_malformed postback_url_too_long
		postback_url_not_https postback_url_has_credentials postback_url_has_fragment postback_url_not_wire_form
		postback_url_host_invalid postback_url_unresolvable postback_url_forbidden_address invalid_email unknown_role
		unknown_kind invalid_name invalid_rate invalid_days invalid_brand invalid_colour invalid_image wrong_password
		password_too_short password_too_long foreign_target`,
	429: "too_many_exports too_many_uploads too_many_attempts",
} as const;
type WordsIn<Text> = Text extends `${infer First}${" " | "\n" | "\t"}${infer Rest}`
	? WordsIn<First> | WordsIn<Rest>
	: Exclude<Text, "">;
const STATUS_ELSEWHERE: ReadonlyMap<string, number> = new Map(
	Object.entries(CODES_ELSEWHERE).flatMap(([status, codes]) =>
		codes.split(/\s+/).map((code) => [code, Number(status)] as const),
	),
);

type Catalogue = typeof FAULTS_BY_KIND;
/** Which calls can answer a fault. */
export type FaultKind = keyof Catalogue;
export type CodeOf<Kind extends FaultKind> = { [Each in Kind]: keyof Catalogue[Each] }[Kind];

/** Has a page below /problems: what the API answers, and what else the inbound log can show. */
export type ExplainedCode = CodeOf<FaultKind>;
/** What a caller of the API can meet. */
export type ApiFaultCode = CodeOf<Exclude<FaultKind, "inbound log">>;
export type FaultCode = ExplainedCode | WordsIn<(typeof CODES_ELSEWHERE)[keyof typeof CODES_ELSEWHERE]>;

const EXPLAINED: ReadonlyMap<string, ExplainedFault> = new Map(
	Object.values(FAULTS_BY_KIND).flatMap((faults) => Object.entries<ExplainedFault>(faults)),
);
export const EXPLAINED_CODES = [...EXPLAINED.keys()] as readonly ExplainedCode[];
export const API_FAULT_CODES = EXPLAINED_CODES.filter(
	(code): code is ApiFaultCode => !Object.hasOwn(FAULTS_BY_KIND["inbound log"], code),
);

export function codesOf<Kind extends FaultKind>(...kinds: readonly Kind[]): CodeOf<Kind>[] {
	return kinds.flatMap((kind) => Object.keys(FAULTS_BY_KIND[kind]) as CodeOf<Kind>[]);
}

export function isExplained(code: string): code is ExplainedCode {
	return EXPLAINED.has(code);
}

export function explainFault(code: ExplainedCode): ExplainedFault {
	const explained = EXPLAINED.get(code);
	if (explained === undefined) throw new Error(`${code} is not in the catalogue`);
	return explained;
}

/** Undefined for what is no code of ours. */
export function httpStatusOf(code: string): number | undefined {
	return EXPLAINED.get(code)?.status ?? STATUS_ELSEWHERE.get(code);
}

const SPELLINGS: ReadonlyMap<string, string> = new Map([
	["api", "API"],
	["json", "JSON"],
	["url", "URL"],
	["https", "HTTPS"],
]);

/** The same for every fault of a code: `bad_signature` is "Bad signature". */
export function titleOfFault(code: FaultCode): string {
	const title = code
		.split("_")
		.map((word) => SPELLINGS.get(word) ?? word)
		.join(" ");
	return title.charAt(0).toUpperCase() + title.slice(1);
}

export interface Fault {
	code: FaultCode;
	httpStatus: number;
	/** One or two sentences for the person: what is wrong, and what to do next. */
	detail: string;
	/** The field of the input it is about, where there is one. */
	field?: string;
	/** The same for somebody at a page, where the API's own words would say nothing. */
	plain?: string;
}

export type Result<Value> = { ok: true; value: Value } | { ok: false; fault: Fault };

export function fault(code: FaultCode, detail: string, field?: string, plain?: string): Fault {
	return {
		code,
		httpStatus: httpStatusOf(code) ?? 500,
		detail,
		...(field === undefined ? {} : { field }),
		...(plain === undefined ? {} : { plain }),
	};
}

export function refuse(
	code: FaultCode,
	detail: string,
	field?: string,
	plain?: string,
): { ok: false; fault: Fault } {
	return { ok: false, fault: fault(code, detail, field, plain) };
}

type DetailOf<Code extends ExplainedCode> = {
	[Kind in FaultKind]: Code extends keyof Catalogue[Kind] ? DetailIn<Catalogue[Kind][Code]> : never;
}[FaultKind];
type DetailIn<Entry> = Entry extends { detail: infer Detail } ? Detail : never;
type PlacesIn<Detail> = Detail extends `${string}{${infer Name}:${string}}${infer Rest}`
	? Name | PlacesIn<Rest>
	: never;
/** What fills the places of the code's sentence; `field` among them is the field at fault, too. */
export type Places<Code extends ExplainedCode> = Readonly<Record<PlacesIn<DetailOf<Code>>, string | number>>;

/** In the catalogue's own words. */
export function faultOf<Code extends ExplainedCode>(code: Code, places: Places<Code>, plain?: string): Fault {
	return faultFilledBy(code, places, plain);
}

export function refusalOf<Code extends ExplainedCode>(
	code: Code,
	places: Places<Code>,
	plain?: string,
): { ok: false; fault: Fault } {
	return { ok: false, fault: faultFilledBy(code, places, plain) };
}

/** As it could be answered by a network of this brand. */
export function exampleFault(code: ExplainedCode, brand: string): Fault {
	const found = faultFilledBy(code, {});
	return { ...found, detail: found.detail.replaceAll("X-Service-", () => `X-${brand}-`) };
}

function faultFilledBy(
	code: ExplainedCode,
	places: Readonly<Record<string, string | number>>,
	plain?: string,
): Fault {
	const { detail, field } = explainFault(code);
	const filled: Record<string, string> = {};
	const sentence = detail.replace(/\{(\w+):([^}]*)\}/g, (_, name: string, example: string) => {
		filled[name] = String(places[name] ?? example);
		return filled[name];
	});
	return fault(code, sentence, field ?? filled["field"], plain);
}

/** The body of the answer, as RFC 9457 has it, with the stable code beside the standard's members. */
export function problemBody(
	{ publicUrl }: { publicUrl: string },
	{ code, httpStatus, detail, field }: Fault,
): { type: string; title: string; status: number; detail: string; code: FaultCode; field?: string } {
	return {
		type: `${publicUrl}/problems/${code}`,
		title: titleOfFault(code),
		status: httpStatus,
		detail,
		code,
		...(field === undefined ? {} : { field }),
	};
}

/** What a page says of it. */
export function plainWords({ plain, detail }: Fault): string {
	return plain ?? detail;
}

export function succeed<Value>(value: Value): { ok: true; value: Value } {
	return { ok: true, value };
}

/** All that is wrong, or what it all means. */
export type Checked<Value> = { ok: true; value: Value } | AllRefused;

/** `fault` is the first of them, for whoever shows one. */
interface AllRefused {
	ok: false;
	fault: Fault;
	faults: readonly [Fault, ...Fault[]];
}

/** All of the values, or all that is wrong with any, in the order of their names here. */
export function checkAll<Values>(
	results: { [Name in keyof Values]: Result<Values[Name]> | Checked<Values[Name]> },
): Checked<Values> {
	const values: Partial<Values> = {};
	const faults: Fault[] = [];
	for (const name in results) {
		const one = results[name];
		if (one.ok) values[name] = one.value;
		else faults.push(...("faults" in one ? one.faults : [one.fault]));
	}
	return faults.length > 0 ? refuseAll(faults) : succeed(values as Values);
}

export function refuseAll(faults: readonly Fault[]): AllRefused {
	const [first, ...others] = faults;
	if (first === undefined) throw new Error("a refusal needs a fault");
	return { ok: false, fault: first, faults: [first, ...others] };
}

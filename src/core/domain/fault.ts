// A fault is a refusal that a person can act on: a stable code, an HTTP status and a sentence that says what
// to do next. The API's faults are in fault-catalogue.ts.

import type { ExplainedFault } from "./explained-fault.ts";
import { FAULTS_BY_KIND } from "./fault-catalogue.ts";
import { TOKEN_FAULTS } from "./token-faults.ts";

/**
 * Fault codes that only pages and commands use, with their HTTP status. The code that refuses also writes the
 * sentence.
 */
const CODES_ELSEWHERE = {
	401: "wrong_credentials wrong_code code_already_used code_step_over provider_declined provider_not_accepted",
	403: "form_not_valid company_account_required no_account address_not_verified not_joined_yet",
	404: "unknown_job unknown_person unknown_session unknown_api_token",
	409: `job_not_ready changed_meanwhile too_many_tokens secret_already_prepared secret_not_prepared
		no_postback_url brand_is_fixed mail_off mail_refused authenticator_already_on authenticator_not_on
		already_decided month_not_over statements_being_prepared statement_already_paid
		statement_carried_forward statement_not_paid no_payment_details needs_confirmation already_erased rekey_under_way
		rekey_waits_for_processes`,
	410: "link_not_valid sign_in_over",
	422: `malformed_file too_many_rows nothing_selected postback_url_malformed postback_url_too_long
		postback_url_not_https postback_url_has_credentials postback_url_has_fragment postback_url_not_wire_form
		postback_url_host_invalid postback_url_unresolvable postback_url_forbidden_address
		postback_url_unknown_macro postback_url_macro_place no_event_chosen
		unknown_kind invalid_brand invalid_colour invalid_image wrong_password
		password_too_short password_too_long invalid_month invalid_date invalid_iban invalid_bic
		zero_amount already_adjusted`,
	429: "too_many_exports too_many_uploads",
	503: "provider_unavailable",
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
export type FaultKind = keyof Catalogue;
export type CodeOf<Kind extends FaultKind> = { [Each in Kind]: keyof Catalogue[Each] }[Kind];

/**
 * Fault codes that have a page below /problems: those of the API, and those that only the inbound log shows.
 */
export type ExplainedCode = CodeOf<FaultKind>;
export type ApiFaultCode = CodeOf<Exclude<FaultKind, "inbound log">>;
export type TokenFaultCode = CodeOf<keyof typeof TOKEN_FAULTS>;
export type FaultCode = ExplainedCode | WordsIn<(typeof CODES_ELSEWHERE)[keyof typeof CODES_ELSEWHERE]>;

const EXPLAINED: ReadonlyMap<string, ExplainedFault> = new Map(
	Object.values(FAULTS_BY_KIND).flatMap((faults) => Object.entries<ExplainedFault>(faults)),
);
export const EXPLAINED_CODES = [...EXPLAINED.keys()] as readonly ExplainedCode[];
export const API_FAULT_CODES = EXPLAINED_CODES.filter(
	(code): code is ApiFaultCode => !Object.hasOwn(FAULTS_BY_KIND["inbound log"], code),
);

export const SIGNED_FAULT_CODES = API_FAULT_CODES.filter(
	(code): code is Exclude<ApiFaultCode, TokenFaultCode> => !isTokenFault(code),
);

export function isTokenFault(code: ExplainedCode): code is TokenFaultCode {
	return Object.values(TOKEN_FAULTS).some((faults) => Object.hasOwn(faults, code));
}

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

/** Returns the HTTP status of a fault code, or undefined if the code does not exist. */
export function httpStatusOf(code: string): number | undefined {
	return EXPLAINED.get(code)?.status ?? STATUS_ELSEWHERE.get(code);
}

const SPELLINGS: ReadonlyMap<string, string> = new Map([
	["api", "API"],
	["json", "JSON"],
	["url", "URL"],
	["https", "HTTPS"],
]);

/** Returns the title of a fault code: `bad_signature` becomes "Bad signature". */
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
	/** One or two sentences that say what is wrong and what to do next. */
	detail: string;
	/** Input field at fault, or undefined if the fault is not about a single field. */
	field?: string;
	/** Message for a person on a page, if the API's message (`detail`) would not help there. */
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
/**
 * Values for the placeholders in the sentence of a fault. The value of `field` is also stored as the field at
 * fault.
 */
export type Places<Code extends ExplainedCode> = Readonly<Record<PlacesIn<DetailOf<Code>>, string | number>>;

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

/** Returns an example of the fault, as a network with this brand would answer it. */
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

/**
 * Returns the body of an error response according to RFC 9457, with the fault code as an additional member.
 */
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

export function plainWords({ plain, detail }: Fault): string {
	return plain ?? detail;
}

export function succeed<Value>(value: Value): { ok: true; value: Value } {
	return { ok: true, value };
}

export type Checked<Value> = { ok: true; value: Value } | AllRefused;

/** All faults of a check. `fault` is the first of them, for callers that show only one fault. */
interface AllRefused {
	ok: false;
	fault: Fault;
	faults: readonly [Fault, ...Fault[]];
}

/** Returns all values, or all faults in the order of the given names. */
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

/** Returns the same result, in which a refusal lists all of its faults. */
export function listFaults<Value>(result: Result<Value> | Checked<Value>): Checked<Value> {
	if (result.ok || "faults" in result) return result;
	return refuseAll([result.fault]);
}

export function refuseAll(faults: readonly Fault[]): AllRefused {
	const [first, ...others] = faults;
	if (first === undefined) throw new Error("a refusal needs a fault");
	return { ok: false, fault: first, faults: [first, ...others] };
}

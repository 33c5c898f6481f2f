// A fault is a refusal somebody can act on: a stable code, an HTTP status and a sentence that says what to do next. What
// the API answers is in fault-catalogue.ts.

import { type ExplainedFault, FAULTS_BY_KIND } from "./fault-catalogue.ts";

/** Met on the pages or by the command alone: the place that refuses says what to do. */
const STATUS_ELSEWHERE = {
	// Many decisions at once.
	malformed_file: 422,
	too_many_rows: 422,
	nothing_selected: 422,
	unknown_job: 404,
	job_not_ready: 409,
	too_many_exports: 429,
	too_many_uploads: 429,
	// The Postback URL, at save and at delivery.
	postback_url_malformed: 422,
	postback_url_too_long: 422,
	postback_url_not_https: 422,
	postback_url_has_credentials: 422,
	postback_url_has_fragment: 422,
	postback_url_not_wire_form: 422,
	postback_url_host_invalid: 422,
	postback_url_unresolvable: 422,
	postback_url_forbidden_address: 422,
	// People, programmes, keys and deliveries.
	unknown_programme: 404,
	unknown_delivery: 404,
	invalid_email: 422,
	email_taken: 409,
	unknown_role: 422,
	unknown_kind: 422,
	invalid_name: 422,
	invalid_rate: 422,
	invalid_days: 422,
	changed_meanwhile: 409,
	unknown_person: 404,
	unknown_key: 404,
	too_many_keys: 409,
	secret_already_prepared: 409,
	secret_not_prepared: 409,
	delivery_not_finished: 409,
	delivery_cancelled: 409,
	no_postback_url: 409,
	// The network's own face.
	invalid_brand: 422,
	brand_is_fixed: 409,
	invalid_colour: 422,
	invalid_image: 422,
	mail_off: 409,
	mail_refused: 409,
	// Signing in, and who may do what.
	wrong_credentials: 401,
	wrong_code: 401,
	code_already_used: 401,
	code_step_over: 401,
	too_many_attempts: 429,
	wrong_password: 422,
	password_too_short: 422,
	password_too_long: 422,
	link_not_valid: 410,
	authenticator_already_on: 409,
	authenticator_not_on: 409,
	unknown_session: 404,
	form_not_valid: 403,
	not_allowed: 403,
} as const;

type Catalogue = typeof FAULTS_BY_KIND;
/** Which calls can answer a fault. */
export type FaultKind = keyof Catalogue;
export type CodeOf<Kind extends FaultKind> = { [Each in Kind]: keyof Catalogue[Each] }[Kind];

/** Has a page below /problems: what the API answers, and what else the inbound log can show. */
export type ExplainedCode = CodeOf<FaultKind>;
/** What a caller of the API can meet. */
export type ApiFaultCode = CodeOf<Exclude<FaultKind, "inbound log">>;
export type FaultCode = ExplainedCode | keyof typeof STATUS_ELSEWHERE;

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
	const elsewhere: Readonly<Record<string, number>> = STATUS_ELSEWHERE;
	return EXPLAINED.get(code)?.status ?? (Object.hasOwn(elsewhere, code) ? elsewhere[code] : undefined);
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

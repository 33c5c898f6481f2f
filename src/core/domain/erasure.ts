// What an erasure writes in the place of names and addresses, and how it finds them in texts. An erased person or partner
// keeps the id, and everything that refers to it stays, such as amounts and decisions.

import { type Result, refuse, succeed } from "./fault.ts";

/** Text that replaces what a person wrote. */
export const ERASED_TEXT = "erased";
/** Name of an erased partner. */
export const ERASED_PARTNER = "erased partner";
/** Name of an erased partner's link. */
export const ERASED_LINK = "erased link";

/** Returns the text that stands in the place of an erased person's email address. It is no address, so nobody is mailed. */
export function erasedPerson(publicId: string): string {
	return `erased person ${publicId}`;
}

/**
 * Returns the code that replaces that of an erased partner's link. No address can contain it, so that a visitor who
 * opens the old link is told that it does not exist.
 */
export function erasedLinkCode(linkId: number): string {
	return `erased:${linkId}`;
}

/** Refuses a change of an erased partner. */
export function judgeErasedPartner({ erased_at_ms }: { erased_at_ms: number | null }): Result<true> {
	if (erased_at_ms === null) return succeed(true);
	return refuse("unknown_partner", "This partner was erased, so nothing can be changed. Invite it anew.");
}

/** Refuses a new link or role for an erased person. */
export function judgeErasedPerson({ erased_at_ms }: { erased_at_ms: number | null }): Result<true> {
	if (erased_at_ms === null) return succeed(true);
	return refuse("unknown_person", "This person was erased, so nothing can be changed. Invite them anew.");
}

/** Names and addresses of an erased person or partner, and what replaces them. */
export interface ErasedWords {
	/** Email addresses that the person has or had, or asked for. */
	emails: readonly string[];
	/** Names that the person or partner has or had. */
	names: readonly string[];
	/** Codes of the partner's links. */
	codes: readonly string[];
	replacement: string;
}

/** Returns a text without the names and addresses. */
export type Eraser = (text: string) => string;

/**
 * Creates a function that replaces whole addresses and names, in any case. A part of a longer word stays, so that the
 * erasure of Ann changes no Anna, and that of ann@a.example changes no joann@a.example. A name stays also in the address of
 * somebody else, such as Shop in owner@shop.example.
 */
export function createEraser({ emails, names, replacement }: ErasedWords): Eraser {
	const patterns = [
		...emails.map(
			(email) => `(?<![\\p{L}\\p{N}._%+-])${escapePattern(email)}(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`,
		),
		...names.map((name) => {
			const whole = `(?<![\\p{L}\\p{N}])${escapePattern(name)}(?![\\p{L}\\p{N}])`;
			return `${whole}(?![\\p{L}\\p{N}._%+-]{0,64}@)(?<!@[\\p{L}\\p{N}._-]{0,255})`;
		}),
	];
	const texts = [...emails, ...names];
	// A longer name comes first, because it may begin with a shorter one.
	const ordered = patterns
		.map((pattern, index) => ({ pattern, length: texts[index]?.length ?? 0 }))
		.filter(({ length }) => length > 0)
		.toSorted((one, other) => other.length - one.length);
	if (ordered.length === 0) return (text) => text;
	const found = new RegExp(ordered.map(({ pattern }) => pattern).join("|"), "giu");
	return (text) => text.replace(found, () => replacement);
}

function escapePattern(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Returns a JSON text in which `erase` was applied to each text called "detail", which people read. */
export function eraseInDetails(json: string, erase: Eraser): string {
	return JSON.stringify(JSON.parse(json), (name, value: unknown) =>
		name === "detail" && typeof value === "string" ? erase(value) : value,
	);
}

/** Filters of a list that people write themselves. The other ones are days, months and words of the program. */
const WRITTEN_FILTERS: readonly string[] = ["orderId", "partner"];

/** Returns the query of a list's address, with its question mark, in which `erase` was applied to what people wrote. */
export function eraseInQuery(query: string, erase: Eraser): string {
	const values = new URLSearchParams(query);
	let isChanged = false;
	for (const name of WRITTEN_FILTERS) {
		const value = values.get(name);
		if (value === null || erase(value) === value) continue;
		values.set(name, erase(value));
		isChanged = true;
	}
	return isChanged ? `?${values}` : query;
}

/** The part of an audit entry that may contain names and addresses. */
export interface AuditText {
	action: string;
	subject: string | null;
	detail: string | null;
}

/** Actions about applications, whose detail is the name that the applicant entered. */
const NAMES_APPLICANT = /^application\./;
/** Actions about something else whose detail begins with the name of a partner. */
const NAMES_PARTNER = /^(?:credit\.assigned|person\.invited|person\.removed|invitation\.withdrawn)$/;
/**
 * Amounts before and after a change of the partner, which are the end of the detail (modules/partners/use-cases/assign.ts).
 */
const ASSIGNED_AMOUNTS =
	/; commission: [\d.]+ [A-Z]{3} → [\d.]+ [A-Z]{3}; network fee: [\d.]+ [A-Z]{3} → [\d.]+ [A-Z]{3}$/;
/** Actions about uploaded files, whose subject is the name of the file. */
const NAMES_FILE = /^(?:import|payments)\./;

/**
 * Returns a function that erases a person from an audit entry. A name may be an ordinary word, so it is replaced only where
 * the entry is by or about the person, or where people enter names.
 */
export function createPersonAuditEraser(words: ErasedWords) {
	const eraseAddresses = createEraser({ ...words, names: [] });
	const eraseAll = createEraser(words);
	return <Entry extends AuditText>(entry: Entry, isByPerson: boolean): Entry => {
		const { action } = entry;
		const subject = eraseIn(entry.subject, eraseAddresses);
		const isAbout = isByPerson || subject === words.replacement;
		const mayName = isAbout || NAMES_APPLICANT.test(action) || NAMES_FILE.test(action);
		const erase = mayName ? eraseAll : eraseAddresses;
		return { ...entry, subject: eraseIn(subject, erase), detail: eraseIn(entry.detail, erase) };
	};
}

/**
 * Returns a function that removes from an audit entry what was written about an erased partner. Amounts stay. `isAbout` says
 * whether the subject is the partner itself or something of it, such as a statement.
 */
export function createPartnerAuditEraser(words: ErasedWords) {
	const eraseAddresses = createEraser({ ...words, names: [] });
	const eraseAll = createEraser(words);
	return <Entry extends AuditText>(entry: Entry, isAbout: boolean): Entry => {
		const { action, detail } = entry;
		const isLink = entry.subject !== null && words.codes.includes(entry.subject);
		if (isAbout || isLink) {
			const erased = detail === null ? null : keepAmount(detail, words.replacement);
			return { ...entry, subject: isLink ? ERASED_LINK : entry.subject, detail: erased };
		}
		const subject = eraseIn(entry.subject, NAMES_FILE.test(action) ? eraseAll : eraseAddresses);
		const mayName = NAMES_APPLICANT.test(action) || NAMES_PARTNER.test(action);
		// What follows the name was written about the partner.
		const isNamed = mayName && detail !== null && eraseAll(detail) !== detail;
		const erased = isNamed
			? `${words.replacement}${ASSIGNED_AMOUNTS.exec(detail)?.[0] ?? ""}`
			: eraseIn(detail, eraseAddresses);
		return { ...entry, subject, detail: erased };
	};
}

function eraseIn(text: string | null, erase: Eraser): string | null {
	return text === null ? null : erase(text);
}

/** Returns the replacement, with the first amount of a text about money, such as "12.00 EUR". */
function keepAmount(text: string, replacement: string): string {
	const [amount] = /-?\d+(?:\.\d+)? [A-Z]{3}\b/.exec(text) ?? [];
	return amount === undefined ? replacement : `${replacement}: ${amount}`;
}

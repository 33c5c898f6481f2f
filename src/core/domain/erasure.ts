// Texts with which an erasure replaces names and addresses, and functions that find names and addresses in texts. An
// erased person or partner keeps the id, and everything that refers to the id stays, such as amounts and decisions.

import { type Result, refuse, succeed } from "./fault.ts";

export const ERASED_TEXT = "erased";
export const ERASED_PARTNER = "erased partner";
export const ERASED_LINK = "erased link";

/**
 * Returns the text that replaces an erased person's email address. The text is not a valid address, so nobody is
 * mailed.
 */
export function erasedPerson(publicId: string): string {
	return `erased person ${publicId}`;
}

/**
 * Returns the code that replaces the code of an erased partner's link. No URL can contain the new code, so a visitor
 * who opens the old link is told that the link does not exist.
 */
export function erasedLinkCode(linkId: number): string {
	return `erased:${linkId}`;
}

export function judgeErasedPartner({ erased_at_ms }: { erased_at_ms: number | null }): Result<true> {
	if (erased_at_ms === null) return succeed(true);
	return refuse("unknown_partner", "This partner was erased, so nothing can be changed. Invite it anew.");
}

export function judgeErasedPerson({ erased_at_ms }: { erased_at_ms: number | null }): Result<true> {
	if (erased_at_ms === null) return succeed(true);
	return refuse("unknown_person", "This person was erased, so nothing can be changed. Invite them anew.");
}

/** Names and addresses of an erased person or partner, and what replaces them. */
export interface ErasedWords {
	/** Email addresses that the person has, had or requested. */
	emails: readonly string[];
	/** Present and former names of the person or partner. */
	names: readonly string[];
	codes: readonly string[];
	replacement: string;
}

/** Replaces the erased names and addresses in a text. */
export type Eraser = (text: string) => string;

/**
 * Creates a function that replaces whole addresses and names, regardless of case. Parts of longer words are not
 * replaced, so that the erasure of Ann changes no Anna, and the erasure of ann@a.example changes no joann@a.example.
 * A name is also not replaced inside somebody else's address, such as Shop in owner@shop.example.
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
	// Longer names are replaced first, because a longer name may begin with a shorter one.
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

/**
 * Returns a JSON text in which `erase` was applied to every value with the key "detail", because people read these
 * values.
 */
export function eraseInDetails(json: string, erase: Eraser): string {
	return JSON.stringify(JSON.parse(json), (name, value: unknown) =>
		name === "detail" && typeof value === "string" ? erase(value) : value,
	);
}

/**
 * Filters of a list whose values people type. All other filters have values that the program defines, such as days
 * and months.
 */
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
 * Amounts before and after a change of the credited partner. They are at the end of an audit entry's detail (see
 * modules/partners/use-cases/assign.ts).
 */
const ASSIGNED_AMOUNTS =
	/; commission: [\d.]+ [A-Z]{3} → [\d.]+ [A-Z]{3}; network fee: [\d.]+ [A-Z]{3} → [\d.]+ [A-Z]{3}$/;
/** Actions about uploaded files. The subject of their audit entries is the file's name. */
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
 * Returns a function that removes from an audit entry what was written about an erased partner. Amounts stay.
 * `isAbout` says whether the subject is the partner itself or belongs to the partner, such as a statement.
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
		// The text after the partner's name was also written about the partner.
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

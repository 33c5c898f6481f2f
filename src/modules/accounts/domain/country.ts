// Countries by their codes of ISO 3166. People choose a country by its name, or write the name or the code.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";

/**
 * Two-letter codes of ISO 3166-1, and XK, which banks use for Kosovo. The names come from the runtime, which also knows
 * codes of unions and of countries that exist no more.
 */
const CODES: ReadonlySet<string> = new Set(
	`AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
	CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE
	GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM
	KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
	NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH
	SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG
	VI VN VU WF WS XK YE YT ZA ZM ZW`.split(/\s+/),
);

const ENGLISH = new Intl.DisplayNames("en", { type: "region" });

/**
 * Languages in which the name of a country is understood. They are those of the column names in files
 * (modules/jobs/use-cases/kind.ts).
 */
const LANGUAGES = ["en", "de", "es", "fr", "it", "nl"];

/** Names that the runtime does not have, by the code of the country. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
	CZ: ["Czech Republic"],
	GB: ["UK", "Great Britain"],
	HK: ["Hong Kong"],
	TR: ["Turkey"],
	US: ["USA", "United States of America"],
};

export interface Country {
	code: string;
	/** English name of the country. */
	name: string;
}

/** All countries in the order of their English names. */
export const COUNTRIES: readonly Country[] = [...CODES]
	.map((code) => ({ code, name: nameOfCountry(code) }))
	.sort((one, other) => one.name.localeCompare(other.name, "en"));

/** Returns the English name of a country, or the text itself if it is no code that the runtime knows. */
export function nameOfCountry(code: string): string {
	return /^[A-Z]{2}$/.test(code) ? (ENGLISH.of(code) ?? code) : code;
}

/** Maximum length of a name. The longest one that the runtime knows has 49 characters. */
const MAX_NAME_LENGTH = 60;

/** Country codes by the folded names of the countries. The map is built when the first name is parsed. */
let codesByName: ReadonlyMap<string, string> | undefined;

/** Parses a code or a name of a country, and returns the code. An empty text stays empty. */
export function parseCountry(text: string, field: string): Result<string> {
	const typed = text.trim();
	const code = typed.toUpperCase();
	if (typed === "" || CODES.has(code)) return succeed(code);
	const isLong = typed.length > MAX_NAME_LENGTH;
	codesByName ??= readNames();
	// The length comes first, because sorting many combining marks takes quadratic time.
	const named = isLong ? undefined : codesByName.get(fold(typed));
	if (named !== undefined) return succeed(named);
	const what = isLong ? "This is no country" : `There is no country “${typed}”`;
	const detail = `${what}. Choose it from the list, or write its name or its two letters, such as Germany or DE.`;
	return refuse("invalid_field", detail, field);
}

function readNames(): ReadonlyMap<string, string> {
	const names = LANGUAGES.flatMap((language) => {
		const inLanguage = new Intl.DisplayNames(language, { type: "region" });
		return [...CODES].map((code) => [fold(inLanguage.of(code) ?? code), code] as const);
	});
	const others = Object.entries(OTHER_NAMES).flatMap(([code, texts]) =>
		texts.map((text) => [fold(text), code] as const),
	);
	return new Map([...names, ...others]);
}

/** Makes names equal that differ only in case, accents, punctuation or spaces. */
function fold(name: string): string {
	const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
	return plain
		.replaceAll("&", " and ")
		.replace(/[^\p{L}\p{N}]+/gu, " ")
		.trim();
}

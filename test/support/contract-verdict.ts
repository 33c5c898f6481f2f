// What the outcome of an attempt means for its delivery: the table of the contract's section 7 and the limit of
// its section 8, written down apart from the product, so that a wrong one there cannot agree with itself.

/** Section 8: "up to seven". */
export const CONTRACT_ATTEMPTS = 7;

/** `again`: tried once more while attempts are left. `never`: final, and the owner is told. */
export type Meaning = "well" | "again" | "never";

/** As stored: an attempt's result, and the HTTP status where the shop gave one. */
export function meaningOf(result: string, httpStatus: number | null): Meaning {
	switch (result) {
		case "answered":
			return meaningOfStatus(httpStatus);
		case "timeout":
		case "network-error":
		// The process died over it, and nobody knows: not counted, and sent again.
		case "interrupted":
			return "again";
		case "forbidden-address":
			return "never";
		default:
			throw new RangeError(`"${result}" is no result of an attempt`);
	}
}

function meaningOfStatus(httpStatus: number | null): Meaning {
	if (httpStatus === null) throw new RangeError("an answer has a status");
	if (httpStatus >= 200 && httpStatus <= 299) return "well";
	return httpStatus >= 500 || httpStatus === 408 || httpStatus === 429 ? "again" : "never";
}

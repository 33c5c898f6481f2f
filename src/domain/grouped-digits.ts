// A count as a sentence has it, its digits in threes. On pages numbers are marked up instead (web/ui).

export function groupDigits(value: number): string {
	return String(value).replace(/\B(?=(?:\d{3})+$)/g, "\u00a0");
}

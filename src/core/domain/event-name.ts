export const EVENT_NAMES = [
	"conversion.recorded",
	"conversion.approved",
	"conversion.rejected",
	"conversion.reversed",
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

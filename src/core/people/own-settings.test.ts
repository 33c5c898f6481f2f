import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { DATE_LOCALES } from "./own-settings.ts";

test("dates can be formatted in every language that the settings offer", () => {
	const locales = Object.keys(DATE_LOCALES);
	deepEqual(Intl.DateTimeFormat.supportedLocalesOf(locales), locales);
});

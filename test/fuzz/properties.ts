// All properties, in the order of their numbers on the command line.

import { CLICK_PROPERTIES } from "./click-properties.ts";
import { EVENT_PROPERTIES } from "./event-properties.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { INTAKE_PROPERTIES } from "./intake-properties.ts";
import { LIFECYCLE_PROPERTIES } from "./lifecycle-properties.ts";
import { MONEY_PROPERTIES } from "./money-properties.ts";
import { RATE_PROPERTIES } from "./rate-properties.ts";
import { CALLBACK_PROPERTIES } from "./signed-callback-properties.ts";
import { REQUEST_PROPERTIES } from "./signed-request-properties.ts";
import { UNSIGNED_PROPERTIES } from "./unsigned-request-properties.ts";
import { URL_PROPERTIES } from "./url-properties.ts";

export const PROPERTIES: readonly FuzzProperty[] = [
	...CALLBACK_PROPERTIES,
	...REQUEST_PROPERTIES,
	...UNSIGNED_PROPERTIES,
	...URL_PROPERTIES,
	...MONEY_PROPERTIES,
	...RATE_PROPERTIES,
	...INTAKE_PROPERTIES,
	...LIFECYCLE_PROPERTIES,
	...EVENT_PROPERTIES,
	...CLICK_PROPERTIES,
];

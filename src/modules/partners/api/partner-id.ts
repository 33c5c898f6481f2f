import { idOf } from "#core/api/answer-fields.ts";

/** The partner of the examples in the OpenAPI document. */
export const EXAMPLE_PARTNER_ID = "ptn_01JEXAMPLE0000000000000000";

export const PARTNER_ID = idOf("ptn").meta({ examples: [EXAMPLE_PARTNER_ID] });

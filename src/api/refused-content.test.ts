import { testRefusals } from "./refusal-scenario.test-support.ts";
import { CONTENT_SCENARIOS } from "./refused-content.test-support.ts";

testRefusals(CONTENT_SCENARIOS);

import type { Module } from "../../module.ts";
import { REFUND_CHANGES } from "../../refunds/refund-changes.ts";

export const REFUNDS: Module = { name: "refunds", changes: REFUND_CHANGES };

//! What a program marks is what a profiler reads.

mod marks;

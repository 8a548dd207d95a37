//! The list of cases by subject, with the cases that do not apply to some providers.

use futures::future::BoxFuture;

use super::{TestedProvider, json, lists, nonsense, refusals, secrets, transport};

pub(in crate::providers) struct Case {
    pub(in crate::providers) name: &'static str,
    pub(in crate::providers) about: &'static str,
    /// Why it does not apply to a provider.
    pub(in crate::providers) excused: fn(&TestedProvider) -> Option<&'static str>,
    pub(super) run: for<'a> fn(&'a TestedProvider) -> BoxFuture<'a, ()>,
}

macro_rules! cases {
    ($($about:literal: $room:ident { $($name:ident $(unless $excused:ident)?),* $(,)? })*) => {
        [$($(Case {
            name: stringify!($name),
            about: $about,
            excused: cases!(@excused $($excused)?),
            run: |tested| Box::pin($room::$name(tested)),
        }),*),*]
    };
    (@excused) => { |_| None };
    (@excused $excused:ident) => { $excused };
}

fn no_key(tested: &TestedProvider) -> Option<&'static str> {
    (!tested.has_key()).then_some("it has no key")
}

fn no_bad_key(tested: &TestedProvider) -> Option<&'static str> {
    tested.subject.bad_key.is_empty().then_some("it has no key")
}

fn no_quota(tested: &TestedProvider) -> Option<&'static str> {
    tested.subject.quota_gone.is_none().then_some("it has no quota")
}

fn no_pages(tested: &TestedProvider) -> Option<&'static str> {
    tested.habits.endless.is_none().then_some("it is asked for one page")
}

fn no_list(tested: &TestedProvider) -> Option<&'static str> {
    tested.habits.returns_one_value.then_some("it reads one value, no list of results")
}

fn no_title(tested: &TestedProvider) -> Option<&'static str> {
    tested.habits.title.is_none().then_some("its answers hold no title")
}

fn no_key_or_title(tested: &TestedProvider) -> Option<&'static str> {
    no_key(tested).or_else(|| no_title(tested))
}

pub(in crate::providers) static CASES: [Case; 64] = cases! {
    "answers": nonsense {
        an_answer_is_read,
        nothing_found_is_an_empty_answer,
        status_204_differs_from_an_answer,
    }
    "throttles and quotas": refusals {
        a_throttle_without_a_wait_is_left_alone,
        a_wait_in_seconds_is_respected,
        a_wait_until_a_date_is_measured_by_the_servers_clock,
        a_wait_of_zero_is_no_tight_loop,
        a_negative_wait_is_no_wait,
        a_wait_of_half_a_second_is_read,
        a_wait_of_years_is_cut_to_a_day,
        a_wait_in_words_is_our_own_back_off,
        a_busy_503_with_a_wait_is_a_throttle,
        repeated_throttles_wait_longer,
        a_used_up_quota_is_exhausted_and_not_asked unless no_quota,
    }
    "keys and walls": refusals {
        a_refused_key_is_not_tried_again unless no_bad_key,
        a_bot_wall_is_no_bad_key_and_not_retried,
        server_errors_count_to_the_limit,
        errors_of_the_edge_count_too,
    }
    "status 200 that is no answer": nonsense {
        prose_is_no_answer,
        a_web_page_is_no_answer,
        a_web_page_called_json_is_no_answer,
        an_empty_body_is_no_answer,
        an_error_object_is_no_answer,
        a_list_where_an_object_belongs_is_no_answer,
        null_is_no_answer,
    }
    "cut answers": transport {
        a_body_cut_at_its_right_length_is_malformed,
        a_body_cut_before_its_length_is_malformed,
        a_chunked_body_without_its_last_chunk_is_malformed,
        a_cut_answer_is_asked_for_once_more_at_most,
    }
    "odd JSON": json {
        nan_is_malformed_with_its_place,
        infinity_is_malformed_with_its_place,
        a_number_beyond_floats_does_no_harm,
        an_id_beyond_doubles_does_no_harm,
        duplicate_keys_do_no_harm,
        a_lone_surrogate_in_an_unknown_field_does_no_harm,
        a_lone_surrogate_in_a_title_is_malformed unless no_title,
        a_depth_of_ten_thousand_does_no_harm,
        an_unclosed_depth_of_ten_thousand_is_malformed,
        a_byte_order_mark_is_read_over,
        a_guard_prefix_is_no_answer,
        unknown_fields_are_ignored,
        bytes_that_are_no_utf8_do_no_harm unless no_title,
    }
    "time and size": transport {
        headers_and_then_silence_end_with_the_caller,
        a_drip_that_never_idles_ends_with_the_total_time,
        silence_ends_with_the_total_time,
        an_endless_body_is_cut_off,
        a_promised_giant_is_not_read,
        a_compression_bomb_is_cut_off,
        a_window_wider_than_the_web_allows_is_refused,
        a_compressed_answer_is_read,
        nested_encodings_are_refused,
        an_unknown_encoding_is_refused,
        plain_bytes_called_gzip_are_malformed,
        gzip_called_plain_is_malformed,
    }
    "connections": transport {
        no_redirect_is_followed,
        a_redirect_without_a_place_is_no_answer,
        a_reset_before_the_headers_is_a_failure,
        a_reset_within_the_headers_is_a_failure,
        a_closed_port_is_a_failure,
    }
    "lists": lists {
        a_result_listed_twice_is_one unless no_list,
        rows_of_another_shape_are_left_out unless no_list,
        a_list_that_never_ends_is_ended unless no_pages,
    }
    "secrets": secrets {
        a_key_sent_back_in_an_answer_is_redacted unless no_key_or_title,
        a_key_sent_back_in_an_error_or_a_redirect_is_redacted unless no_key,
    }
};
